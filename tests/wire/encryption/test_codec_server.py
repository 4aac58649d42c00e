"""The codec server: which callers it answers, and how."""

import asyncio
import base64
import json
from collections.abc import Callable
from typing import Any

import httpx
import pytest
from pydantic import SecretStr
from temporalio.api.common.v1 import Payload
from temporalio.converter import WorkflowSerializationContext

from wire.encryption.codec import Encryption
from wire.encryption.codec_server import LARGEST_BODY, codec_server
from wire.encryption.key_ring import KeyRing
from wire.encryption.keys import MasterKeys

KEYS = KeyRing(MasterKeys.new())
UI = "http://127.0.0.1:8233"
TOKEN = "a-long-random-token"
HEADERS = {"X-Namespace": "dev", "Authorization": f"Bearer {TOKEN}"}


class Server:
    """The app, called from `host` at `url`."""

    def __init__(
        self, token: str | None = TOKEN, *, host: str = "127.0.0.1", url: str = "http://127.0.0.1"
    ) -> None:
        self._app = codec_server(
            KEYS,
            token=SecretStr(token) if token else None,
            origins=[UI],
            namespaces=frozenset({"dev"}),
        )
        self._host = host
        self._url = url

    def post(self, path: str, **more: Any) -> httpx.Response:
        return asyncio.run(self._asked("POST", path, **more))

    def options(self, path: str, **more: Any) -> httpx.Response:
        return asyncio.run(self._asked("OPTIONS", path, **more))

    async def _asked(self, method: str, path: str, **more: Any) -> httpx.Response:
        transport = httpx.ASGITransport(self._app, client=(self._host, 50000))
        async with httpx.AsyncClient(transport=transport, base_url=self._url) as client:
            return await client.request(method, path, **more)


def as_json(payload: Payload) -> dict[str, Any]:
    return {
        "metadata": {
            key: base64.b64encode(value).decode() for key, value in payload.metadata.items()
        },
        "data": base64.b64encode(payload.data).decode(),
    }


PLAIN = as_json(Payload(metadata={"encoding": b"json/plain"}, data=b'{"a": 1}'))


def sealed(workflow_id: str) -> dict[str, Any]:
    context = WorkflowSerializationContext(namespace="dev", workflow_id=workflow_id)
    codec = Encryption(KEYS, "dev").with_context(context)
    plain = Payload(metadata={"encoding": b"json/plain"}, data=b'{"a": 1}')
    return as_json(codec.encrypt(plain))


def test_it_decodes_for_every_subject_and_leaves_what_it_cannot_read() -> None:
    broken = sealed("deploy/acme/1")
    broken["data"] = base64.b64encode(b"altered by somebody else").decode()
    sent = [sealed("deploy/acme/1"), sealed("build/shop/1"), PLAIN, broken]
    answer = Server().post("/decode", json={"payloads": sent}, headers=HEADERS)
    assert answer.status_code == 200
    assert answer.json() == {"payloads": [PLAIN, PLAIN, PLAIN, broken]}


def test_what_it_encodes_it_decodes() -> None:
    encoded = Server().post("/encode", json={"payloads": [PLAIN]}, headers=HEADERS).json()
    assert encoded["payloads"] != [PLAIN]
    decoded = Server().post("/decode", json=encoded, headers=HEADERS).json()
    assert decoded == {"payloads": [PLAIN]}


@pytest.mark.parametrize(
    ("changes", "status"),
    [
        ({"Authorization": "Bearer another"}, 401),
        ({"Authorization": f"Basic {TOKEN}"}, 401),
        ({"Authorization": ""}, 401),
        ({"X-Namespace": "other"}, 403),
        ({"X-Namespace": ""}, 400),
        ({"Origin": "http://evil.example"}, 403),
        ({"Origin": "null"}, 403),
    ],
)
@pytest.mark.parametrize("path", ["/decode", "/encode"])
def test_others_are_refused(path: str, changes: dict[str, str], status: int) -> None:
    answer = Server().post(path, json={"payloads": [PLAIN]}, headers=HEADERS | changes)
    assert answer.status_code == status
    assert TOKEN not in answer.text


@pytest.mark.parametrize(
    ("client", "status"),
    [
        (lambda: Server(None), 200),
        (lambda: Server(None, url="http://localhost"), 200),
        (lambda: Server(None, host="192.0.2.1"), 403),
        (lambda: Server(None, url="http://rebound.example"), 403),
    ],
)
def test_without_a_token_this_machine_alone_is_answered(
    client: Callable[[], Any], status: int
) -> None:
    headers = {"X-Namespace": "dev"}
    answer = client().post("/decode", json={"payloads": [PLAIN]}, headers=headers)
    assert answer.status_code == status


@pytest.mark.parametrize("body", [b"", b"{", b'{"payloads": 1}', b'{"other": []}', b"\xff"])
def test_what_is_not_the_protocol_is_refused(body: bytes) -> None:
    answer = Server().post("/decode", content=body, headers=HEADERS)
    assert answer.status_code == 400


def test_a_body_without_end_is_refused() -> None:
    body = json.dumps({"payloads": [{"data": "A" * LARGEST_BODY}]})
    assert Server().post("/decode", content=body, headers=HEADERS).status_code == 413


def test_pages_of_the_ui_may_ask_and_no_others() -> None:
    asked = {
        "Access-Control-Request-Method": "POST",
        "Access-Control-Request-Headers": "x-namespace",
    }
    allowed = Server().options("/decode", headers={"Origin": UI} | asked)
    assert allowed.headers["access-control-allow-origin"] == UI
    foreign = Server().options("/decode", headers={"Origin": "http://evil.example"} | asked)
    assert "access-control-allow-origin" not in foreign.headers
    with pytest.raises(ValueError, match="own origin"):
        codec_server(KEYS, token=None, origins=["*"], namespaces=frozenset({"dev"}))
