"""Hostile HTTP from strangers: the answers are short, and no log is filled."""

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import suppress

import pytest
import pytest_asyncio
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from gateway.audit import Audit
from gateway.http.callers import Callers, Rate, Refused
from tests.gateway.gateway_parts import Credentials, Site, install

pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def port() -> AsyncIterator[int]:
    """The port of a gateway without TLS, with one route that echoes the request."""
    site = Site("127.0.0.1:1", None, Credentials({"acme": install("acme")}))
    callers = Callers(site.credentials, site.standings, Audit(), Rate(1000, 1000))

    async def whoami(request: Request) -> Response:
        try:
            who = callers.admit(request).shown
        except Refused as refused:
            callers.denied(request, refused, "whoami")
            return PlainTextResponse(refused.reason, refused.status)
        asked = f"{request.method} {request.scope['path']}"
        return PlainTextResponse(f"{who} {asked} {len(await request.body())}")

    site.routes = (Route("/v1/whoami", whoami, methods=["GET", "POST"]),)
    async with site.gateway() as gateway:
        yield gateway.port


async def answer(port: int, request: bytes) -> tuple[int, bytes]:
    """The status and the body of the last answer before the connection ends; 0 if there is none: a
    client that is cut off while it sends a lot may not receive the answer."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(request)
    whole = b""
    with suppress(ConnectionError):
        whole = await reader.read()
    writer.close()
    if not whole:
        return 0, b""
    head, _, body = whole.rpartition(b"\r\n\r\n")
    return int(head.rpartition(b"HTTP/1.1 ")[2].split()[0]), body


def ask(line: str, *headers: str, host: str = "gw", body: bytes = b"") -> bytes:
    lines = (f"{line} HTTP/1.1", f"Host: {host}", "Connection: close", *headers, "", "")
    return "\r\n".join(lines).encode("latin-1") + body


ACME = "Authorization: Bearer acme"


@pytest.mark.parametrize("host", ["[", "[::1", "gw/v1/whoami?", "a@b", "", "gw:99999999", "\xff"])
@pytest.mark.parametrize("path", ["/v1/other", "/v1/whoami"])
async def test_the_host_header_chooses_nothing(
    port: int, host: str, path: str, caplog: pytest.LogCaptureFixture
) -> None:
    status, body = await answer(port, ask(f"GET {path}", host=host))
    assert (status in (401, 404)) == (status != 400)
    assert b"acme" not in body
    if status != 400:
        assert status == (401 if path == "/v1/whoami" else 404)
        status, body = await answer(port, ask("POST /v1/whoami", ACME, host=host))
        assert (status, body) == (200, b"install/acme POST /v1/whoami 0")
    assert "Traceback" not in caplog.text


@pytest.mark.parametrize(
    "request_",
    [
        b"\x00\x01\x02\r\n\r\n",
        b"GET /v1/whoami HTTP/1.1\r\n\r\n",
        b"GET /v1/whoami\0 HTTP/1.1\r\nHost: gw\r\n\r\n",
        ask("GET /v1/whoami", "Content-Length: 1", "Content-Length: 2", body=b"xx"),
        ask("POST /v1/whoami", "Transfer-Encoding: xchunked", body=b"0\r\n\r\n"),
        ask("POST /v1/whoami", "Transfer-Encoding : chunked", body=b"0\r\n\r\n"),
        ask("POST /v1/whoami", "Content-Length: -1"),
        ask("GET /v1/whoami", *(f"X-{number}: x" for number in range(20_000))),
        b"GET /v1/whoami HTTP/1.1\r\nHost: gw\r\nX: " + b"x" * 200_000,
    ],
    ids=["bytes", "no host", "nul", "lengths", "encoding", "space", "negative", "many", "endless"],
)
async def test_what_is_no_request_is_refused_in_silence(
    port: int, request_: bytes, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    caplog.set_level(logging.INFO)
    assert (await answer(port, request_))[0] in ((0, 400) if len(request_) > 64_000 else (400,))
    assert not caplog.messages
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize(
    ("line", "headers", "status"),
    [
        ("GET /v1/whoami", ["X-Forwarded-For: 10.0.0.1", "X-Authorization: Bearer acme"], 401),
        ("GET /v1/../v1/whoami", [ACME], 404),
        ("GET //v1/whoami", [ACME], 404),
        ("GET /v1/whoami/", [ACME], 307),
        ("GET http://other/v1/whoami", [ACME], 404),
        ("DELETE /v1/whoami", [ACME], 405),
        ("PROPFIND /v1/whoami", [ACME], 405),
        ("TRACE /v1/whoami", [ACME], 405),
        ("CONNECT 127.0.0.1:22", [ACME], 404),
        ("POST /temporal.api.workflowservice.v1.WorkflowService/GetSystemInfo",
         [ACME, "Content-Type: application/grpc-web"], 404),
        ("POST /temporal.api.workflowservice.v1.WorkflowService/GetSystemInfo",
         [ACME, "Content-Type: application/grpc"], 404),
        ("POST /api/v1/namespaces/dev/workflows/x", [ACME], 404),
    ],
)  # fmt: skip
async def test_only_what_is_served_is_served(
    port: int, line: str, headers: list[str], status: int
) -> None:
    assert (await answer(port, ask(line, *headers)))[0] == status


async def test_an_upgrade_is_no_way_in(
    port: int, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    caplog.set_level(logging.INFO)
    for kind in ("websocket", "h2c"):
        asked = [
            "Connection: Upgrade",
            f"Upgrade: {kind}",
            "Sec-WebSocket-Version: 13",
            "Sec-WebSocket-Key: AAAA",
        ]
        status, body = await answer(port, ask("GET /v1/whoami", ACME, *asked))
        assert (status, body) == (200, b"install/acme GET /v1/whoami 0")
    assert not caplog.messages
    assert capfd.readouterr() == ("", "")
