"""The way out: which hosts need which proxy; gRPC and HTTP pass it with a private authority."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from grpc import (
    GenericRpcHandler,
    HandlerCallDetails,
    RpcMethodHandler,
    aio,
    ssl_server_credentials,
    unary_unary_rpc_method_handler,
)
from temporalio.api.workflowservice.v1 import GetSystemInfoRequest, GetSystemInfoResponse
from temporalio.client import Client, KeepAliveConfig
from temporalio.service import RPCError, TLSConfig

from artifacts.errors import RegistryUnreachable
from artifacts.registry import Registry
from tests.artifacts.serving import Certificate as Files
from tests.artifacts.serving import served
from tests.http_proxy import ConnectProxy, both_ways, connect_proxy, listening
from tests.tls_certificates import NAME, make_certificate
from wire.connection import TemporalAddress, connect_once
from wire.network.egress import (
    NEVER_PROXIED,
    Proxy,
    ProxyUnusable,
    except_this_machine,
    proxy_to,
    secrets_of_proxies,
)
from wire.network.gateway_address import GatewayAddress
from wire.network.httpx_parts import http_proxy
from wire.network.trust import BUNDLE, VARIABLES, Trust, TrustUnusable

LOGIN = "exclave:s%40fe%3A1"
PASSWORD = "s@fe:1"


@pytest.fixture(autouse=True)
def nothing_of_this_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http_proxy", "https_proxy", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)


@pytest.mark.parametrize(
    ("host", "no_proxy", "through"),
    [
        ("gw.example.com", "", True),
        ("gw.example.com", "example.com", False),
        ("gw.example.com", ".example.com", False),
        ("gw.example.com", "*.example.com", False),
        ("GW.Example.com.", "gw.example.com:443", False),
        ("gw.example.com", "ample.com, other.com", True),
        ("gw.example.com", "other.com gw.example.com", False),
        ("gw.example.com", "*", False),
        ("10.1.2.3", "10.0.0.0/8", False),
        ("10.1.2.3", "10.1.2.3", False),
        ("11.1.2.3", "10.0.0.0/8,rubbish/99", True),
        ("[fd00::7]", "fd00::/8", False),
        ("[fd00::7]", "fd01::/16,10.0.0.0/8", True),
        ("127.0.0.9", "", False),
        ("[::1]", "", False),
        ("localhost", "", False),
        ("169.254.169.254", "", False),
    ],
)
def test_which_hosts_are_reached_through_it(host: str, no_proxy: str, through: bool) -> None:
    environment = {"HTTPS_PROXY": "http://proxy:3128", "NO_PROXY": no_proxy}
    found = proxy_to(host, environment=environment)
    assert found == (Proxy("proxy", 3128) if through else None)
    assert proxy_to(host, secure=False, environment=environment) is None


@pytest.mark.parametrize(
    ("text", "proxy"),
    [
        ("http://proxy.example.com:3128/", Proxy("proxy.example.com", 3128)),
        ("proxy:8080", Proxy("proxy", 8080)),
        ("HTTP://proxy", Proxy("proxy", 80)),
        ("http://[fd00::1]:3128", Proxy("fd00::1", 3128)),
        (f"http://{LOGIN}@proxy:1", Proxy("proxy", 1, "exclave", PASSWORD)),
    ],
)
def test_how_a_proxy_is_written(text: str, proxy: Proxy) -> None:
    assert Proxy.parse(text, "HTTPS_PROXY") == proxy
    assert PASSWORD not in repr(proxy) + proxy.address + str(http_proxy(proxy).url)


@pytest.mark.parametrize("text", ["https://u:hidden@p:1", "socks5://u:hidden@p:1", "u:hidden@p:x"])
def test_an_unusable_one_is_reported_without_its_password(text: str) -> None:
    with pytest.raises(ProxyUnusable) as caught:
        Proxy.parse(text, "HTTPS_PROXY")
    assert "HTTPS_PROXY" in str(caught.value) and "hidden" not in str(caught.value)


def test_the_machine_itself_is_excepted_for_every_tool() -> None:
    environment: dict[str, str] = {}
    except_this_machine(environment)
    assert environment == {}
    environment = {"https_proxy": f"http://{LOGIN}@proxy:1", "NO_PROXY": "a.example.com"}
    except_this_machine(environment)
    except_this_machine(environment)
    assert environment["no_proxy"] == environment["NO_PROXY"]
    assert environment["NO_PROXY"].split(",") == ["a.example.com", *NEVER_PROXIED]
    assert secrets_of_proxies(environment) == ["s%40fe%3A1", PASSWORD]


def test_an_authority_is_given_once(tmp_path: Path) -> None:
    system = make_certificate(tmp_path / "system").ca
    other = make_certificate(tmp_path / "other").ca
    ours = make_certificate(tmp_path / "ours").ca
    environment = {"SSL_CERT_FILE": str(system), "AWS_CA_BUNDLE": str(other)}
    Trust.read(None).spread(tmp_path / "none", environment)
    assert environment["AWS_CA_BUNDLE"] == str(other) and not (tmp_path / "none").exists()
    Trust.read(str(ours)).spread(tmp_path / "trust", environment)
    bundle = tmp_path / "trust" / BUNDLE
    assert environment == dict.fromkeys(VARIABLES, str(bundle))
    assert bundle.stat().st_mode & 0o777 == 0o644
    for one in (system, other, ours):
        assert one.read_text().strip() in bundle.read_text()
    before = bundle.read_text()
    Trust.read(str(ours)).spread(tmp_path / "trust", environment)
    assert bundle.read_text() == before


def test_what_a_gateway_is_pinned_to_stays_pinned(tmp_path: Path) -> None:
    pinned = make_certificate(tmp_path / "pinned").ca.read_text()
    ours = make_certificate(tmp_path / "ours").ca
    both = Trust.read(str(ours)).authorities(pinned)
    assert both is not None and both.count("BEGIN CERTIFICATE") == 2
    assert Trust().authorities() is None


def test_a_file_without_a_certificate_is_refused(tmp_path: Path) -> None:
    (tmp_path / "ca.pem").write_bytes(b"\x30\x82\xff")
    for file, words in (("ca.pem", "has no usable certificate"), ("none.pem", "cannot be read")):
        with pytest.raises(TrustUnusable, match=words):
            Trust.read(str(tmp_path / file))


async def _system_info(request: bytes, context: "aio.ServicerContext[bytes, bytes]") -> bytes:
    return GetSystemInfoResponse(server_version="of the tests").SerializeToString()


@asynccontextmanager
async def speaking_grpc(folder: Path, name: str) -> AsyncIterator[tuple[int, str]]:
    """A gRPC server with TLS for a name: its port, and its authority in PEM."""
    made = make_certificate(folder, names=[name])
    # Allows pings as a gateway does, and at shorter intervals.
    server = aio.server(
        options=[
            ("grpc.http2.min_ping_interval_without_data_ms", 100),
            ("grpc.keepalive_permit_without_calls", 1),
            ("grpc.http2.max_ping_strikes", 0),
        ]
    )
    server.add_generic_rpc_handlers((_AnswersAll(),))
    pair = (made.key.read_bytes(), made.file.read_bytes())
    port = server.add_secure_port("127.0.0.1:0", ssl_server_credentials([pair]))
    await server.start()
    try:
        yield port, made.ca.read_text()
    finally:
        await server.stop(0)


class _AnswersAll(GenericRpcHandler):
    def service(self, handler_call_details: HandlerCallDetails) -> "RpcMethodHandler[bytes, bytes]":
        return unary_unary_rpc_method_handler(_system_info)


async def test_grpc_passes_a_proxy_that_alone_knows_the_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with speaking_grpc(tmp_path, NAME) as (port, ca):
        knows = {f"{NAME}:443": ("127.0.0.1", port)}
        async with connect_proxy(ConnectProxy(knows, f"exclave:{PASSWORD}")) as proxy:
            monkeypatch.setenv("HTTPS_PROXY", f"http://{LOGIN}@127.0.0.1:{proxy.port}")
            (tmp_path / "ours.pem").write_text(ca)
            trust = Trust.read(str(tmp_path / "ours.pem"))
            gateway = GatewayAddress.parse(f"https://{NAME}", trust.authorities())
            where = TemporalAddress(gateway.target, "dev", gateway.tls(), proxy=proxy_to(NAME))
            client = await connect_once(where)
            assert client.namespace == "dev"
            assert proxy.asked == [f"{NAME}:443 200"]
            monkeypatch.setenv("HTTPS_PROXY", f"http://exclave:wrong-word@127.0.0.1:{proxy.port}")
            where = TemporalAddress(gateway.target, "dev", gateway.tls(), proxy=proxy_to(NAME))
            with pytest.raises(RuntimeError) as caught:
                await connect_once(where)
            assert "wrong-word" not in str(caught.value)
            assert proxy.asked[-1] == f"{NAME}:443 407"


async def test_releases_pass_it_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = make_certificate(tmp_path, names=[NAME])
    asked: list[str] = []

    async def app(scope, receive, send) -> None:  # type: ignore[no-untyped-def]
        asked.append(scope["path"])
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b""})

    def has(registry: Registry) -> bool:
        with registry:
            return registry.has_blob("shop", "sha256:" + "0" * 64)

    with served(app, Files(made.file, made.key)) as url:
        knows = {f"{NAME}:443": ("127.0.0.1", int(url.rpartition(":")[2]))}
        async with connect_proxy(ConnectProxy(knows, f"exclave:{PASSWORD}")) as proxy:
            monkeypatch.setenv("HTTPS_PROXY", f"http://{LOGIN}@127.0.0.1:{proxy.port}")
            trust = Trust.read(str(made.ca)).context()
            assert await asyncio.to_thread(has, Registry(f"https://{NAME}", trust=trust))
            assert proxy.asked == [f"{NAME}:443 200"] and len(asked) == 1
            monkeypatch.setenv("HTTPS_PROXY", f"http://u:wrong-word@127.0.0.1:{proxy.port}")
            with pytest.raises(RegistryUnreachable, match="407") as caught:
                await asyncio.to_thread(has, Registry(f"https://{NAME}", trust=trust))
            assert "wrong-word" not in str(caught.value)


@pytest.mark.long
@pytest.mark.parametrize(("ping_every", "is_cut"), [(300, False), (60_000, True)])
async def test_a_middlebox_cuts_only_who_is_silent(
    tmp_path: Path, ping_every: int, is_cut: bool
) -> None:
    """Like the SDK's 30 s behind a middlebox that cuts after 50 s, but faster."""
    cuts: asyncio.Queue[bool] = asyncio.Queue()
    async with speaking_grpc(tmp_path, "127.0.0.1") as (port, ca):

        async def relay(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            inner = await asyncio.open_connection("127.0.0.1", port)
            cuts.put_nowait(await both_ways((reader, writer), inner, silence=6.0))

        async with listening(relay) as outside:
            client = await Client.connect(
                f"127.0.0.1:{outside}",
                tls=TLSConfig(server_root_ca_cert=ca.encode()),
                keep_alive_config=KeepAliveConfig(ping_every, 5_000),
            )
            try:
                was_cut = await asyncio.wait_for(cuts.get(), 60 if is_cut else 9)
            except TimeoutError:
                was_cut = False
            assert was_cut is is_cut
            # The client goes on in both cases, since it reconnects after a cut.
            assert await _answers(client)


async def _answers(client: Client) -> bool:
    try:
        await client.workflow_service.get_system_info(GetSystemInfoRequest(), retry=True)
    except RPCError:
        return False
    return True
