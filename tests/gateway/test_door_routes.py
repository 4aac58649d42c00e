"""Pulls and telemetry through the whole gateway: one port, TLS, and a worker's own code."""

import asyncio
import sqlite3
import ssl
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager, closing
from pathlib import Path

import httpx
import pytest
from pydantic import ValidationError

from artifacts.layout import Layout
from artifacts.registry import Registry
from gateway.audit import Audit
from gateway.door import Door, DoorSettings
from gateway.front.certificates import Certificate
from gateway.front.listening import listen
from gateway.pulls.embedded import EmbeddedRegistry
from gateway.pulls.settings import ArtifactsSection
from gateway.pulls.upstream_pushes import UpstreamBackend
from gateway.rpc.upstream import TemporalFrontend
from gateway.telemetry.settings import TelemetrySection
from tests.gateway.authority import Authority
from tests.gateway.gateway_parts import SECRET, Credentials, Standings, install
from tests.gateway.pulls.pull_site import SHOP, PullSite, Word, make_release
from tests.gateway.telemetry.otlp_site import PROTOBUF, logs


@asynccontextmanager
async def door(authority: Authority, pulls: PullSite, store: Path) -> AsyncIterator[str]:
    telemetry = TelemetrySection(store=store)
    credentials, standings = Credentials({"acme": install("acme")}), Standings()
    async with AsyncExitStack() as stack:
        routes = await stack.enter_async_context(telemetry.serving(credentials, standings, Audit()))
        settings = DoorSettings(
            TemporalFrontend("127.0.0.1:1"),
            (SECRET,),
            Certificate(authority.certificate, authority.key),
        )
        door = Door(settings, credentials, standings, [*pulls.app.routes, *routes])
        listener = listen("127.0.0.1:0", "the gateway")
        await door.open(listener)
        try:
            yield f"https://localhost:{listener.getsockname()[1]}"
        finally:
            await door.close(grace=0)


async def test_a_worker_pulls_and_sends_at_one_port(authority: Authority, tmp_path: Path) -> None:
    layout = Layout(tmp_path / "registry")
    content = bytes(range(256)) * 20_000
    made = make_release(layout, content)
    pulls = PullSite(EmbeddedRegistry(layout))
    pulls.installs.pullable = {"acme": [made.index]}
    store = tmp_path / "telemetry.sqlite"
    trust = ssl.create_default_context(cafile=authority.ca)
    word = Word("nothing")

    async with door(authority, pulls, store) as address:

        def work() -> tuple[int, int]:
            with Registry(address, auth=word, trust=trust) as registry:
                word.word = "acme"  # Renewed meanwhile.
                registry.fetch_blob(SHOP, made.module, tmp_path / "module")
            with httpx.Client(auth=word, verify=trust, trust_env=False) as client:
                sent = client.post(
                    f"{address}/v1/logs",
                    content=logs("hello").SerializeToString(),
                    headers=PROTOBUF,
                )
                unknown = client.get(f"{address}/v1/other")
            return sent.status_code, unknown.status_code

        assert await asyncio.to_thread(work) == (200, 404)
    assert (tmp_path / "module").read_bytes() == content
    with closing(sqlite3.connect(store)) as database:
        found = database.execute("SELECT install, text FROM telemetry").fetchall()
    assert found == [("acme", "hello")]


@pytest.mark.parametrize(
    "wrong",
    [
        {},
        {"layout": "a", "registry": "https://r"},
        {"registry": "r:5000"},
        {"registry": "https://r", "user": "u"},
        {"registry": "http://r", "user": "u", "password": "p"},
        {"layout": "a", "ca": "c"},
    ],
)
def test_releases_lie_in_one_place(wrong: dict[str, str]) -> None:
    with pytest.raises(ValidationError):
        ArtifactsSection.model_validate(wrong)


async def test_where_releases_lie_is_set_by_the_file(tmp_path: Path) -> None:
    read: Callable[..., ArtifactsSection] = ArtifactsSection.model_validate
    folder = read({"layout": "registry"}, context=tmp_path).backend([SECRET])
    assert isinstance(folder, EmbeddedRegistry)
    registry = {"registry": "https://r/path/", "user": "u", "password": "p"}
    backend = read(registry, context=tmp_path).backend([SECRET])
    assert isinstance(backend, UpstreamBackend)
    assert backend._registry.address == "https://r/path"
    await backend.close()
