"""`exclave worker doctor` on real servers: its finding for each fault, without any secret."""

import asyncio
import json
import secrets
import socket
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from typer.testing import CliRunner

from activities.access.authority import EnrolmentKey
from exclave.worker import worker
from stacks.enrolment import TOKEN_FILE, Enrolment
from tests.gateway.authority import Authority
from tests.gateway.gateway_parts import Credentials, Site
from tests.http_proxy import ConnectProxy, both_ways, connect_proxy, listening
from tests.s3_server import S3Server
from tests.small_disk import fill, small_disk
from tests.tls_certificates import NAME, make_certificate
from wire.enrolment.token import TokenId
from wire.network.trust import VARIABLES
from workers.doctor.examination import examine
from workers.doctor.findings import Finding

PASSWORD = "s@fe:1"
KEY = EnrolmentKey(bytes(range(32)))
ALL_WELL = ["name ok", "connect ok", "tls ok", "http ok", "clock ok", "grpc ok"]


@pytest.fixture(autouse=True)
def nothing_of_this_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    proxies = ("http_proxy", "https_proxy", "no_proxy", "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY")
    for name in (*proxies, *VARIABLES):
        # Set first, so that variables set meanwhile are restored, too.
        monkeypatch.setenv(name, "")
        monkeypatch.delenv(name)


@dataclass
class Machine:
    """A customer's machine with a stack."""

    folder: Path
    gateway: str
    ca: Path | None = None
    extra: dict[str, str] = field(default_factory=dict)

    @property
    def enrolment(self) -> Enrolment:
        ca = {"gateway_ca": self.ca.read_text()} if self.ca else {}
        return Enrolment.model_validate(
            {
                "install": "acme",
                "namespace": "dev",
                "temporal": "gateway.internal:443",
                "releases": "https://gateway.internal",
                "gateway": self.gateway,
                "control_key": KEY.public,
                **ca,
                **self.extra,
            }
        )

    @property
    def file(self) -> Path:
        return self.folder / "enrolment.toml"

    def give_token(self, *, install: str = "acme", seconds: int = 7200) -> str:
        named = TokenId.fresh("dev", f"install/{install}", int(time.time()) + seconds)
        token = KEY.token(str(named)).render()
        (self.folder / TOKEN_FILE).write_text(token)
        return token

    async def examined(self) -> list[Finding]:
        data = self.folder / "data"
        data.mkdir(exist_ok=True)
        scratch = self.folder / "scratch"
        return await examine(self.enrolment, self.file, data, scratch)

    async def of_gateway(self) -> list[Finding]:
        return [one for one in await self.examined() if one.place.startswith("gateway ")]


def marks(found: list[Finding]) -> list[str]:
    return [f"{one.check} {'ok' if one.ok else 'FAILS'}" for one in found]


async def answers_time(_: Request) -> Response:
    return JSONResponse({"time": time.time()})


async def is_behind(_: Request) -> Response:
    return JSONResponse({"time": time.time() - 1000})


@asynccontextmanager
async def gateway(
    folder: Path,
    *names: str,
    issuer: str = "authority of the tests",
    ended: bool = False,
    clock: object = answers_time,
) -> AsyncIterator[tuple[int, Path]]:
    """A real gateway without Temporal behind it; yields its port and its authority's file."""
    made = make_certificate(folder / "tls", names=names, issuer=issuer, ended=ended)
    authority = Authority(made.ca, made.key, made.file, made.key)
    time_route = Route("/v1/time", clock, methods=["GET"])  # type: ignore[arg-type]
    site = Site("127.0.0.1:1", authority, Credentials({}), routes=(time_route,))
    async with site.gateway() as found:
        yield found.port, made.ca


async def test_nothing_is_in_the_way(tmp_path: Path) -> None:
    async with gateway(tmp_path, "127.0.0.1") as (port, ca):
        machine = Machine(tmp_path, f"https://127.0.0.1:{port}", ca)
        token = machine.give_token()
        found = await machine.examined()
    assert marks(found) == [*ALL_WELL, "credential ok", "use ok", "terraform ok", "disk ok"], found
    assert token.partition(".")[2] not in repr(found)
    assert not (tmp_path / "data" / "identity").exists(), "a check makes no keys"


async def test_a_proxy_and_a_private_authority(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`ca_bundle` gives the customer's own authority; only the proxy can resolve the name."""
    async with gateway(tmp_path, NAME) as (port, ca):
        knows = {f"{NAME}:443": ("127.0.0.1", port)}
        async with connect_proxy(ConnectProxy(knows, f"exclave:{PASSWORD}")) as proxy:
            monkeypatch.setenv("HTTPS_PROXY", f"http://exclave:s%40fe%3A1@127.0.0.1:{proxy.port}")
            machine = Machine(tmp_path, f"https://{NAME}", extra={"ca_bundle": str(ca)})
            found = await machine.of_gateway()
            assert marks(found) == [*ALL_WELL[:2], "proxy ok", *ALL_WELL[2:]], found
            assert set(proxy.asked) == {f"{NAME}:443 200"}
            for url, words in (
                (proxy.url.replace(PASSWORD, "wrong-word"), "407"),
                (f"http://127.0.0.1:{proxy.port}", "it was given no user"),
            ):
                monkeypatch.setenv("HTTPS_PROXY", url)
                refused = await machine.of_gateway()
                assert marks(refused)[2:] == ["proxy FAILS"]
                assert words in refused[-1].said
                found += refused
            machine = Machine(tmp_path, "https://other.internal")
            monkeypatch.setenv("HTTPS_PROXY", f"http://exclave:s%40fe%3A1@127.0.0.1:{proxy.port}")
            forbidden = (await machine.of_gateway())[-1]
            assert "403 Forbidden" in forbidden.said
            assert "allow CONNECT to other.internal:443" in forbidden.what_to_do
    assert not any(word in repr(found) for word in (PASSWORD, "s%40fe", "wrong-word"))


@pytest.mark.parametrize(
    ("fault", "check", "words", "advice"),
    [
        (
            "untrusted",
            "tls",
            "issued by 'Corp Inspection CA', is not from an authority",
            "ca_bundle =",
        ),
        ("wrong name", "tls", "is for other.example.com, not for 127.0.0.1", "another machine"),
        ("ended", "tls", "has expired since 20", "timedatectl"),
        ("clock", "clock", "clock is 17 min ahead of the gateway's", "timedatectl"),
    ],
)
async def test_faults_of_certificates_and_clocks(
    tmp_path: Path, fault: str, check: str, words: str, advice: str
) -> None:
    name = "other.example.com" if fault == "wrong name" else "127.0.0.1"
    clock = is_behind if fault == "clock" else answers_time
    async with gateway(
        tmp_path, name, issuer="Corp Inspection CA", ended=fault == "ended", clock=clock
    ) as (port, ca):
        trusted = None if fault == "untrusted" else ca
        machine = Machine(tmp_path, f"https://127.0.0.1:{port}", trusted)
        [failed] = [one for one in await machine.of_gateway() if not one.ok]
    assert failed.check == check
    assert words in failed.said and advice in failed.what_to_do, failed


async def test_faults_of_the_way(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def cuts(reader, writer) -> None:  # type: ignore[no-untyped-def]
        await reader.read(1)
        writer.close()

    async def no_tls(reader, writer) -> None:  # type: ignore[no-untyped-def]
        await reader.read(1)
        writer.write(b"220 mail.example.com ESMTP\r\n")
        await writer.drain()
        writer.close()

    async def failed(url: str) -> Finding:
        *_, last = await Machine(tmp_path, url).of_gateway()
        assert not last.ok
        return last

    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        refused = await failed(f"https://127.0.0.1:{taken.getsockname()[1]}")
        assert (refused.check, "refuses connections" in refused.said) == ("connect", True)
    unknown = await failed("https://gateway.invalid")
    assert unknown.check == "name" and "gateway.invalid" in unknown.said
    async with listening(cuts) as port:
        cut = await failed(f"https://127.0.0.1:{port}")
        assert cut.check == "tls", cut
        monkeypatch.setenv("HTTPS_PROXY", f"http://127.0.0.1:{port}")
        no_proxy = await failed("https://gateway.invalid")
        assert no_proxy.check == "proxy" and "not answer as an HTTP proxy" in no_proxy.said
        monkeypatch.setenv("HTTPS_PROXY", "")
    async with listening(no_tls) as port:
        other = await failed(f"https://127.0.0.1:{port}")
        assert other.check == "tls" and "speaks no TLS" in other.said, other
    monkeypatch.setenv("HTTPS_PROXY", "https://u:hidden@proxy:1")
    [only] = await Machine(tmp_path, "https://gateway.invalid").examined()
    assert only.check == "proxy" and "hidden" not in only.said and not only.ok


async def test_by_ipv6_alone(tmp_path: Path) -> None:
    async with gateway(tmp_path, "::1") as (port, ca):

        async def relay(reader, writer) -> None:  # type: ignore[no-untyped-def]
            inner = await asyncio.open_connection("127.0.0.1", port)
            await both_ways((reader, writer), inner)

        async with listening(relay, "::1") as outside:
            machine = Machine(tmp_path, f"https://[::1]:{outside}", ca)
            found = await machine.of_gateway()
    assert marks(found) == ALL_WELL, found


@pytest.mark.usefixtures("s3_environment")
async def test_a_store_in_a_bucket(tmp_path: Path, s3_server: S3Server) -> None:
    async def found(bucket: str) -> list[Finding]:
        place = {"store": f"s3://{bucket}/acme", "store_endpoint": s3_server.endpoint}
        machine = Machine(tmp_path, "https://127.0.0.1:1", extra=place)
        return [one for one in await machine.examined() if one.place.startswith("store ")]

    well = await found(s3_server.make_bucket())
    assert marks(well) == ["endpoint ok", "name ok", "connect ok", "use ok"], well
    *_, missing = await found("not-there")
    assert not missing.ok and "there is no bucket not-there" in missing.said


@pytest.mark.usefixtures("s3_environment")
async def test_a_pod_that_cannot_reach_sts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_WEB_IDENTITY_TOKEN_FILE", str(tmp_path / "token"))
    monkeypatch.setenv("AWS_ENDPOINT_URL_STS", "https://127.0.0.1:1")
    machine = Machine(tmp_path, "https://127.0.0.1:1", extra={"cloud": "aws"})
    found = [one for one in await machine.examined() if one.place == "cloud aws"]
    assert marks(found) == ["name ok", "connect FAILS"], found
    monkeypatch.delenv("AWS_WEB_IDENTITY_TOKEN_FILE")
    found = [one for one in await machine.examined() if one.place == "cloud aws"]
    assert marks(found) == ["identity ok"], found


@pytest.mark.parametrize(
    ("token", "words"),
    [
        (None, "does not exist"),
        ("rubbish", "not an enrolment token"),
        ("foreign", "the token is for install/other of dev"),
        ("old", "the token has expired"),
    ],
)
async def test_a_worker_that_cannot_enrol(tmp_path: Path, token: str | None, words: str) -> None:
    machine = Machine(tmp_path, "https://127.0.0.1:1")
    match token:
        case "rubbish":
            (tmp_path / TOKEN_FILE).write_text(secrets.token_hex(8))
        case "foreign":
            machine.give_token(install="other")
        case "old":
            machine.give_token(seconds=-5)
    [found] = [one for one in await machine.examined() if one.check == "credential"]
    assert not found.ok and words in found.said and "exclave access token" in found.what_to_do


def test_the_command(tmp_path: Path) -> None:
    machine = Machine(tmp_path, "https://127.0.0.1:1", extra={"ca_bundle": "/not/there.pem"})
    machine.file.write_text(machine.enrolment.render())
    arguments = ["doctor", "--enrolment", str(machine.file), "--data", str(tmp_path)]
    done = CliRunner().invoke(worker, arguments)
    assert done.exit_code == 1
    assert "FAILS  ca_bundle" in done.output and "/not/there.pem cannot be read" in done.output
    machine.extra = {}
    machine.file.write_text(machine.enrolment.render())
    done = CliRunner().invoke(worker, [*arguments, "--output", "json"])
    answer = json.loads(done.output)
    assert (done.exit_code, answer["ok"], answer["install"]) == (1, False, "acme")
    assert [one["check"] for one in answer["checks"] if not one["ok"]] == ["connect", "credential"]


@pytest.mark.process
async def test_a_full_disk_is_reported(tmp_path: Path) -> None:
    with small_disk(tmp_path / "disk", 16) as disk:
        machine = Machine(disk, "https://127.0.0.1:1")
        before = {one.check: one for one in await machine.examined()}
        assert before["disk"].ok
        assert f"{disk / 'data'} is on a disk with 1" in before["disk"].said
        fill(disk)
        after = {one.check: one for one in await machine.examined()}
    assert not after["disk"].ok
    assert "0 bytes of 16.0 MiB free: it is full" in after["disk"].said
    assert "Free some space there" in after["disk"].what_to_do
