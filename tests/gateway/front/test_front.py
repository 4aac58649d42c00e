"""One port for gRPC and HTTP, and what the front does with connections that misbehave."""

import asyncio
import contextlib
import json
import random
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import httpx
import pytest
from grpc import StatusCode
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route

from gateway.audit import Audit
from gateway.front import server as front_module
from gateway.front.certificates import Certificate, CertificateUnusable
from gateway.front.hello import Speaks, speaks_in_clear
from gateway.front.limits import FrontLimits
from gateway.front.listening import CannotListen, listen
from gateway.front.peers import Peers
from gateway.front.server import Front
from gateway.http.callers import Callers, Rate
from tests.gateway.authority import Authority, make_authority, renew
from tests.gateway.gateway_parts import Credentials, Gateway, Site, install

Serve = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]
PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"


def site_of(authority: Authority | None) -> Site:
    return Site("127.0.0.1:1", authority, Credentials({"acme": install("acme")}))


@asynccontextmanager
async def browsing(gateway: Gateway) -> AsyncIterator[httpx.AsyncClient]:
    trusted = ssl.create_default_context(
        cadata=gateway.authority.pem.decode() if gateway.authority else None
    )
    scheme = "https" if gateway.authority else "http"
    async with httpx.AsyncClient(
        base_url=f"{scheme}://{gateway.address}", verify=trusted, trust_env=False
    ) as client:
        yield client


@pytest.mark.parametrize("encrypted", [True, False], ids=["TLS", "in clear"])
async def test_one_port_serves_both(authority: Authority, encrypted: bool) -> None:
    async with (
        site_of(authority if encrypted else None).gateway() as gateway,
        browsing(gateway) as browser,
        gateway.channel("acme") as acme,
    ):
        healthy, (denied, _), missing = await asyncio.gather(
            browser.get("/healthz"), acme.status("ListNamespaces"), browser.get("/nothing")
        )
        assert (healthy.status_code, healthy.text) == (200, "ok\n")
        assert denied is StatusCode.PERMISSION_DENIED
        assert missing.status_code == 404
        assert "GET /nothing" in missing.json()["error"]


async def test_both_know_from_where_a_call_came(
    authority: Authority, caplog: pytest.LogCaptureFixture
) -> None:
    async def whoami(request: Request) -> Response:
        return JSONResponse(list(request.client or ()))

    site = site_of(authority)
    site.routes = (Route("/v1/whoami", whoami),)
    async with (
        site.gateway() as gateway,
        gateway.channel(None) as nobody,
        browsing(gateway) as browser,
    ):
        await nobody.status("ListNamespaces")
        [line] = [json.loads(text) for text in caplog.messages if text.startswith("{")]
        assert line["peer"] in outside(gateway)
        host, port = (await browser.get("/v1/whoami")).json()
        assert f"{host}:{port}" in outside(gateway) - {line["peer"]}


def outside(gateway: Gateway) -> set[str]:
    assert gateway.door.front is not None
    return {str(connection.peer) for connection in gateway.door.front.admission.open}


async def test_a_new_certificate_is_taken_up(tmp_path: Path) -> None:
    async with site_of(make_authority(tmp_path)).gateway() as gateway:
        renewed = make_authority(tmp_path)
        assert gateway.authority == renewed
        assert gateway.door.settings.certificate is not None
        assert gateway.door.settings.certificate.refresh()
        async with gateway.channel("acme") as acme, browsing(gateway) as browser:
            assert (await acme.status("ListNamespaces"))[0] is StatusCode.PERMISSION_DENIED
            assert (await browser.get("/healthz")).text == "ok\n"


async def test_many_handshakes_at_once_while_the_certificate_changes(tmp_path: Path) -> None:
    async with site_of(make_authority(tmp_path)).gateway() as gateway:
        certificate = gateway.door.settings.certificate
        assert certificate is not None

        async def one(number: int) -> StatusCode:
            if number % 20 == 10:
                # Another key, signed by the same authority, which running clients trust, too.
                renew(tmp_path)
                assert certificate.refresh()
            # Each has a channel of its own, so that no connection is shared.
            async with gateway.channel("acme", alone=True) as acme:
                return (await acme.status("ListNamespaces"))[0]

        assert set(await asyncio.gather(*(one(number) for number in range(60)))) == {
            StatusCode.PERMISSION_DENIED
        }


async def test_a_certificate_that_cannot_be_used_changes_nothing(tmp_path: Path) -> None:
    authority = make_authority(tmp_path)
    certificate = Certificate(authority.certificate, authority.key)
    assert not certificate.refresh()
    authority.key.write_text("no key")
    with pytest.raises(CertificateUnusable, match="must be PEM"):
        certificate.refresh()


def test_a_port_that_is_taken_is_named() -> None:
    with listen("127.0.0.1:0", "the gateway") as taken:
        taken.listen()
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        with pytest.raises(CannotListen, match=f"the gateway cannot listen on {address}"):
            listen(address, "the gateway")


@asynccontextmanager
async def before(
    serve: Serve, limits: FrontLimits | None = None
) -> AsyncIterator[tuple[Front, int]]:
    """A front with a server of the test behind it."""
    inner = await asyncio.start_server(serve, "127.0.0.1", 0)
    port = inner.sockets[0].getsockname()[1]
    front = Front(speaks_in_clear, dict.fromkeys(Speaks, port), Peers(), limits or FrontLimits())
    listener = listen("127.0.0.1:0", "the front")
    async with inner:
        await front.start(listener)
        try:
            yield front, listener.getsockname()[1]
        finally:
            await front.close()
            inner.close()


async def test_bytes_pass_in_order_with_half_close_and_a_slow_reader() -> None:
    sent = random.Random(0).randbytes(30_000_000)
    waiting = asyncio.Event()

    async def echo(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await waiting.wait()
        whole = await reader.read()
        writer.write(whole)
        await writer.drain()
        writer.close()

    async with before(echo) as (front, port):
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(sent[:100])
        await prove(front)
        writer.write(sent[100:])
        # Nobody reads, so the front must have stopped reading, too.
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(writer.drain(), 0.2)
        [connection] = front.admission.open
        assert connection.other is not None
        assert connection.other.transport is not None
        assert 0 < connection.other.transport.get_write_buffer_size() < 1_000_000
        waiting.set()
        await writer.drain()
        writer.write_eof()
        assert await reader.read() == sent
        writer.close()
        await writer.wait_closed()


async def test_who_says_nothing_is_not_waited_for() -> None:
    async with before(refuse, FrontLimits(hello_seconds=0.05)) as (front, port):
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(PREFACE[:10])
        with contextlib.suppress(ConnectionResetError):
            assert await reader.read() == b""
        assert not front.admission.open
        writer.close()


@pytest.mark.parametrize(
    "limits", [FrontLimits(connections_per_address=2), FrontLimits(connections=2)]
)
async def test_one_address_has_only_so_many_connections(limits: FrontLimits) -> None:
    async with before(hold, limits) as (front, port):
        made = [await asyncio.open_connection("127.0.0.1", port) for _ in range(3)]
        with contextlib.suppress(ConnectionResetError):
            assert await made[0][0].read() == b"", "the oldest gives way"
        assert len(front.admission.open) == 2
        for _, writer in made:
            writer.close()


async def test_no_stranger_takes_the_place_of_who_may_pass(authority: Authority) -> None:
    site = site_of(authority)
    site.front = FrontLimits(connections=3)
    async with site.gateway() as gateway, gateway.channel("acme", alone=True) as acme:
        # It proves its identity by a permitted call; that Temporal is away does not matter.
        assert (await acme.status("GetSystemInfo"))[0] is StatusCode.UNAVAILABLE
        front = gateway.door.front
        assert front is not None
        [worker] = front.admission.open
        strangers = [await asyncio.open_connection("127.0.0.1", gateway.port) for _ in range(20)]
        for reader, _ in strangers[:18]:
            with contextlib.suppress(ConnectionResetError):
                assert await reader.read() == b""
        assert worker in front.admission.open and len(front.admission.open) == 3
        assert (await acme.status("GetSystemInfo"))[0] is StatusCode.UNAVAILABLE
        assert worker in front.admission.open
        # A new caller gets in, too, while strangers occupy all other connections.
        async with gateway.channel("acme", alone=True) as another:
            assert (await another.status("GetSystemInfo"))[0] is StatusCode.UNAVAILABLE
        for _, writer in strangers:
            writer.close()


async def test_http_on_which_nothing_moves_is_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(front_module, "_SWEEP_SECONDS", 0.02)
    async with before(hold, FrontLimits(idle_seconds=0.05)) as (_, port):
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        grpc_reader, grpc_writer = await asyncio.open_connection("127.0.0.1", port)
        grpc_writer.write(PREFACE)
        writer.write(b"GET / HTTP/1.1\r\n")
        with contextlib.suppress(ConnectionResetError):
            assert await reader.read() == b""
        assert not grpc_reader.at_eof()
        writer.close()
        grpc_writer.close()


async def test_a_server_that_is_away_closes_the_connection(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async with before(hold) as (front, port):
        front.way.ports.update(dict.fromkeys(Speaks, 1))
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(b"GET / HTTP/1.1\r\n")
        with contextlib.suppress(ConnectionResetError):
            assert await reader.read() == b""
        assert "does not answer" in caplog.text
        writer.close()


async def prove(front: Front) -> None:
    """Prove an identity, as the servers behind the front do."""
    async with asyncio.timeout(10):
        while not [one for one in front.admission.open if one.other is not None]:
            await asyncio.sleep(0.01)
    [connection] = front.admission.open
    front.way.peers.prove(connection.inner_port)


async def test_who_proves_nothing_is_read_up_to_a_budget() -> None:
    """Data beyond it is not lost: it waits for a proof, but not for long."""
    taken = bytearray()

    async def take(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while piece := await reader.read(65_536):
            taken.extend(piece)
        writer.close()

    sent = random.Random(0).randbytes(3_000_000)
    limits = FrontLimits(stranger_bytes=100_000, proof_seconds=20)
    async with before(take, limits) as (front, port):
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(sent)
        async with asyncio.timeout(10):
            while len(taken) < 100_000:
                await asyncio.sleep(0.01)
        [connection] = front.admission.open
        assert (len(taken), connection.taken) == (100_000, 100_000)
        assert front.admission.left_of(connection) == 0
        front.way.peers.prove(connection.inner_port)
        assert front.admission.taken == 0 and not front.admission.taken_by_host, "it is given back"
        writer.write_eof()
        assert await reader.read() == b""
        assert bytes(taken) == sent
        writer.close()


@pytest.mark.parametrize(
    ("limits", "each"),
    [
        (FrontLimits(stranger_bytes=1000, proof_seconds=0.1), 1000),
        (FrontLimits(strangers_bytes=100, stranger_call_bytes=500, proof_seconds=0.1), 500),
        (
            FrontLimits(
                strangers_bytes_per_address=100, stranger_call_bytes=500, proof_seconds=0.1
            ),
            500,
        ),
    ],
    ids=["each", "in all", "from one address"],
)
async def test_strangers_end_soon_after_their_budget(limits: FrontLimits, each: int) -> None:
    taken: list[int] = []

    async def take(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(ConnectionError):
            taken.append(len(await reader.read()))
        writer.close()

    async with before(take, limits) as (front, port):
        _, filling = await asyncio.open_connection("127.0.0.1", port)
        filling.write(b"x" * 200)
        async with asyncio.timeout(10):
            while front.admission.taken < 200:
                await asyncio.sleep(0.01)
        for _ in range(3):
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.write(b"x" * 5000)
            with contextlib.suppress(ConnectionResetError):
                assert await reader.read() == b""
            writer.close()
        async with asyncio.timeout(10):
            while len(taken) < 3:
                await asyncio.sleep(0.01)
        assert taken == [each] * 3
        assert front.admission.taken == 200, "what the others had is given back"
        filling.close()


async def test_a_stranger_does_not_stay(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(front_module, "_SWEEP_SECONDS", 0.02)
    async with before(hold, FrontLimits(stranger_seconds=0.1)) as (front, port):
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(PREFACE)
        await prove(front)
        stranger, other = await asyncio.open_connection("127.0.0.1", port)
        other.write(PREFACE)
        with contextlib.suppress(ConnectionResetError):
            assert await stranger.read() == b""
        assert not reader.at_eof() and len(front.admission.open) == 1
        other.close()
        writer.close()


async def test_who_may_pass_gets_a_new_budget_with_each_call() -> None:
    limits = FrontLimits(call_bytes=1000, proof_seconds=0.2)
    async with before(hold, limits) as (front, port):
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(PREFACE)
        await prove(front)
        [connection] = front.admission.open
        for _ in range(5):
            writer.write(b"x" * 900)
            async with asyncio.timeout(10):
                while connection.taken < 900:
                    await asyncio.sleep(0.01)
            front.way.peers.prove(connection.inner_port)
        writer.write(b"x" * 2000)
        with contextlib.suppress(ConnectionResetError):
            assert await reader.read() == b""
        assert not front.admission.open
        writer.close()


async def test_over_http_who_is_proven_sends_what_they_want(authority: Authority) -> None:
    """A build worker's push is longer than any budget, and its first bytes come with its proof."""
    site = site_of(authority)
    site.front = FrontLimits(stranger_bytes=20_000, call_bytes=20_000)
    callers = Callers(site.credentials, site.standings, Audit(), Rate(1000, 1000))

    async def push(request: Request) -> Response:
        callers.admit(request)
        return PlainTextResponse(str(len(await request.body())))

    site.routes = (Route("/v1/push", push, methods=["POST"]),)
    async with site.gateway() as gateway, browsing(gateway) as client:
        for size in (3_000_000, 5_000_000):
            answer = await client.post(
                "/v1/push", content=bytes(size), headers={"Authorization": "Bearer acme"}
            )
            assert answer.text == str(size)
        front = gateway.door.front
        assert front is not None and front.admission.taken == 0
        [connection] = front.admission.open
        assert not connection.is_stranger


async def refuse(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    raise AssertionError("nothing should have come here")


async def hold(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await reader.read()
    writer.close()
