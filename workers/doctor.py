"""Whether a worker's machine can reach what it needs, and what is in the way.

Each check goes the way that the worker itself goes, with the same proxy and the same trust. Nothing
is changed: no keys are made, and a token is not used up.
"""

import asyncio
import os
import ssl
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from functools import cache, partial
from pathlib import Path
from typing import Final, Literal

import httpx
from pydantic import ValidationError
from temporalio.runtime import Runtime, TelemetryConfig
from temporalio.service import RPCError

from activities.disk import room
from activities.operations.log_bound import has_holes
from activities.terraform.tool import find_terraform
from contracts.errors import EngineFailed, ToolMissing, Unreachable
from stacks.enrolment import Enrolment
from store.checking import check_store
from store.interface import StoreError
from store.opening import open_store
from store.reserve import has_room
from store.s3_place import S3Place
from wire.connection import TemporalAddress, connect_once, reason
from wire.enrolment.cloud_documents import document_of
from wire.enrolment.messages import SKEW_SECONDS, TIME_PATH, TimeAnswer, skew_in_words
from wire.network.egress import Proxy, ProxyUnusable, except_this_machine, proxy_to
from wire.network.gateway_address import GatewayAddress
from wire.network.httpx_parts import http_proxy_of
from wire.network.probing import SECONDS, Fails, Host, bounded, connect, handshake, resolve, tunnel
from wire.network.trust import Trust, TrustUnusable
from workers.enrolment_check import WORKERS_USER, enrolled_or_able

_ANSWERS: Final = ("unauthenticated", "permission", "credential")
"""In what a gateway says to a call without a credential: gRPC itself came through."""


@dataclass(frozen=True)
class Finding:
    """What came of one check."""

    place: str
    """What it is about, for example `gateway gw.example.com:443`."""
    check: str
    ok: bool
    said: str
    what_to_do: str = ""


class _Findings:
    """Of one place, in order."""

    def __init__(self, place: str) -> None:
        self.place = place
        self.all: list[Finding] = []

    async def check(self, name: str, step: Awaitable[str]) -> bool:
        """Note what a step says, or why it fails; whether it went well."""
        try:
            said = await asyncio.wait_for(step, SECONDS + 1)
        except Fails as error:
            self.all.append(Finding(self.place, name, False, error.said, error.what_to_do))
            return False
        except TimeoutError:
            words = f"nothing came back within {SECONDS:.0f} s"
            self.all.append(Finding(self.place, name, False, words, _CUT))
            return False
        except Exception as error:
            # One check that cannot be made must not hide the others; its words may hold anything.
            words = f"the check itself failed ({type(error).__name__})"
            self.all.append(Finding(self.place, name, False, words, "Please report this."))
            return False
        self.all.append(Finding(self.place, name, True, said))
        return True


_CUT: Final = (
    "A firewall or proxy on the way may hold it back; have it pass this host's TLS as it is."
)


async def examine(
    enrolment: Enrolment, enrolment_file: Path, data: Path, scratch: Path
) -> list[Finding]:
    """Check everything at once; each step is bounded.

    Args:
        enrolment: The worker's.
        enrolment_file: Where it stands; the token is beside it.
        data: The worker's data folder.
        scratch: A folder for what is needed meanwhile.
    """
    try:
        except_this_machine()
        trust = Trust.read(enrolment.ca_bundle)
        trust.spread(scratch)
        for secure in (True, False):
            proxy_to("exclave.example.com", secure=secure)
    except TrustUnusable as error:
        return [Finding("this machine", "ca_bundle", False, str(error))]
    except ProxyUnusable as error:
        return [Finding("this machine", "proxy", False, str(error))]
    found = await asyncio.gather(
        *_control_plane(enrolment, enrolment_file, data, trust),
        _store(enrolment, data, trust),
        _cloud(enrolment, trust),
        _tools(),
        _disk(data),
    )
    return [one for some in found for one in some]


def _control_plane(
    enrolment: Enrolment, enrolment_file: Path, data: Path, trust: Trust
) -> list[Awaitable[list[Finding]]]:
    if enrolment.gateway is None:
        return [_temporal(enrolment), _releases(enrolment, trust)]
    gateway = GatewayAddress.parse(enrolment.gateway, trust.authorities(enrolment.gateway_ca))
    return [
        _gateway(enrolment, gateway),
        _credential(enrolment, enrolment_file, data, trust),
    ]


async def _way(found: _Findings, host: Host) -> bool:
    """The way to a host, until it ends; whether all of it is open."""
    addresses: list[str] = []
    reached: list[str] = []

    async def name() -> str:
        addresses.extend(await bounded(partial(resolve, host)))
        known = f"{host.dialled[0]} is {', '.join(addresses)}"
        return f"{known} (a proxy, which looks up {host.name} itself)" if host.proxy else known

    async def tcp() -> str:
        answers = await asyncio.gather(*(_dialled(host, one) for one in addresses))
        reached.extend(one for one, fault in zip(addresses, answers, strict=True) if not fault)
        faults = [fault for fault in answers if fault]
        if not reached:
            raise Fails("; ".join(one.said for one in faults), faults[0].what_to_do)
        but = f"; but {'; '.join(one.said for one in faults)}" if faults else ""
        return f"connected to {', '.join(reached)}, port {host.dialled[1]}{but}"

    async def through(proxy: Proxy) -> str:
        def ask() -> str:
            with connect(reached[0], proxy.port) as connection:
                tunnel(connection, host, proxy)
            return f"{proxy.address} gives a tunnel to {host.address}"

        return await bounded(ask)

    async def tls(trust: ssl.SSLContext) -> str:
        shown = await bounded(partial(handshake, host, reached[0], trust))
        return f"its certificate, issued by {shown.issuer!r}, until {shown.ends:%Y-%m-%d}"

    steps: list[tuple[str, Callable[[], Awaitable[str]]]] = [("name", name), ("connect", tcp)]
    steps += [("proxy", partial(through, host.proxy))] if host.proxy else []
    steps += [("tls", partial(tls, host.trust))] if host.trust else []
    for check, step in steps:
        if not await found.check(check, step()):
            return False
    return True


async def _dialled(host: Host, address: str) -> Fails | None:
    try:
        await bounded(lambda: connect(address, host.dialled[1]).close())
    except Fails as error:
        return error
    return None


def _host_of(url: str, trust: Trust | GatewayAddress) -> Host:
    parsed = httpx.URL(url)
    secure = parsed.scheme == "https"
    return Host(
        parsed.host,
        parsed.port or (443 if secure else 80),
        proxy_to(parsed.host, secure=secure),
        trust.context() if secure else None,
    )


async def _gateway(enrolment: Enrolment, gateway: GatewayAddress) -> list[Finding]:
    found = _Findings(f"gateway {gateway.target}")
    host = _host_of(gateway.url, gateway)
    if not await _way(found, host):
        return found.all
    async with httpx.AsyncClient(
        base_url=gateway.url,
        verify=host.trust or True,
        timeout=SECONDS,
        trust_env=False,
        proxy=http_proxy_of(gateway.url),
    ) as client:
        if await found.check("http", _healthy(client)):
            await found.check("clock", _clock(client))
    where = TemporalAddress(
        gateway.target, enrolment.namespace, gateway.tls(), proxy=proxy_to(host.name)
    )
    await found.check("grpc", _grpc(where))
    return found.all


async def _answer(client: httpx.AsyncClient, path: str) -> httpx.Response:
    try:
        return await client.get(path)
    except httpx.HTTPError as error:
        raise Fails(f"GET {path} has no answer ({type(error).__name__})", _CUT) from None


async def _healthy(client: httpx.AsyncClient) -> str:
    answer = await _answer(client, "/healthz")
    if answer.status_code == 200 and answer.text == "ok\n":
        return "it answers, and is well"
    if answer.status_code == 503:
        raise Fails(
            f"it answers that it is not well: {answer.text[:200].strip()}",
            "Tell the vendor; the worker goes on when it is well again.",
        )
    raise Fails(
        f"what answers is no gateway: GET /healthz gives {answer.status_code}",
        "Is the address right? Does a proxy answer in its place?",
    )


async def _clock(client: httpx.AsyncClient) -> str:
    before = time.time()
    answer = await _answer(client, TIME_PATH)
    here = (before + time.time()) / 2
    try:
        skew = here - TimeAnswer.model_validate_json(answer.content).time
    except ValidationError:
        raise Fails("it does not tell the time", "Tell the vendor.") from None
    if abs(skew) > SKEW_SECONDS:
        raise Fails(
            skew_in_words(skew),
            "Set it (timedatectl set-ntp true): certificates and clouds are judged by it.",
        )
    return f"within {SKEW_SECONDS / 60:.0f} min of the gateway's ({skew:+.1f} s)"


@cache
def _silent() -> Runtime:
    """The SDK's own prints warnings about refused calls on standard output."""
    return Runtime(telemetry=TelemetryConfig(logging=None))


async def _grpc(where: TemporalAddress) -> str:
    try:
        await connect_once(where, runtime=_silent())
    except (RuntimeError, RPCError) as error:
        if not any(one in str(error).lower() for one in _ANSWERS):
            raise Fails(
                f"gRPC has no answer: {reason(error)}",
                "Something on the way may not pass HTTP/2; have it pass this host's TLS as it is.",
            ) from None
    return "HTTP/2 passes"


async def _temporal(enrolment: Enrolment) -> list[Finding]:
    found = _Findings(f"temporal {enrolment.temporal}")
    name, _, port = enrolment.temporal.rpartition(":")
    host = Host(name.strip("[]"), int(port), proxy_to(name))
    if await _way(found, host):
        where = TemporalAddress(enrolment.temporal, enrolment.namespace, proxy=host.proxy)
        await found.check("grpc", _grpc(where))
    return found.all


async def _releases(enrolment: Enrolment, trust: Trust) -> list[Finding]:
    found = _Findings(f"releases {enrolment.releases}")
    await _way(found, _host_of(enrolment.releases, trust))
    return found.all


async def _store(enrolment: Enrolment, data: Path, trust: Trust) -> list[Finding]:
    found = _Findings(f"store {enrolment.store or data / 'store'}")

    def use() -> str:
        if enrolment.store is None and not (data / "store").exists():
            if not os.access(data, os.W_OK):
                raise Fails(f"{data} cannot be written by this user", WORKERS_USER)
            return "the worker makes it when it starts"
        try:
            check_store(open_store(enrolment.store_description(data)))
        except (StoreError, OSError) as error:
            raise Fails(str(error), WORKERS_USER if enrolment.store is None else "") from None
        return "it is written, read and listed, and keeps conditions"

    if enrolment.store is not None:
        described = replace(
            S3Place.parse(enrolment.store),
            region=enrolment.store_region or "",
            endpoint=enrolment.store_endpoint or "",
        )
        hosts: list[Host] = []

        async def endpoint() -> str:
            url = await bounded(partial(_s3_url, described))
            hosts.append(_host_of(url, trust))
            return url

        if not await found.check("endpoint", endpoint()) or not await _way(found, hosts[0]):
            return found.all
    await found.check("use", bounded(use))
    return found.all


def _s3_url(place: S3Place) -> str:
    """Where requests to a bucket go."""
    if place.endpoint:
        return place.endpoint
    url = httpx.URL(_aws_url("s3", place.region))
    return str(url if "." in place.bucket else url.copy_with(host=f"{place.bucket}.{url.host}"))


def _aws_url(service: Literal["s3", "sts"], region: str = "") -> str:
    import boto3  # noqa: PLC0415 - it takes half a second, of those alone who need it

    session = boto3.Session(region_name=region or None)
    client = session.client(service, region_name=session.region_name or "us-east-1")
    client.close()
    return client.meta.endpoint_url


async def _cloud(enrolment: Enrolment, trust: Trust) -> list[Finding]:
    if enrolment.cloud is None:
        return []
    cloud, found = enrolment.cloud, _Findings(f"cloud {enrolment.cloud}")
    if cloud == "aws" and os.environ.get("AWS_WEB_IDENTITY_TOKEN_FILE"):
        # A pod's identity is exchanged for credentials at STS; a machine's comes from its metadata.
        sts = _host_of(await bounded(partial(_aws_url, "sts")), trust)
        if not await _way(found, sts):
            return found.all

    def ask() -> str:
        try:
            document_of(cloud, enrolment.cloud_audience)("exclave:doctor")
        except OSError as error:
            raise Fails(
                str(error),
                "Does this machine have an identity, and may this user reach the metadata service?",
            ) from None
        return "it vouches for this machine"

    await found.check("identity", bounded(ask))
    return found.all


async def _credential(
    enrolment: Enrolment, enrolment_file: Path, data: Path, trust: Trust
) -> list[Finding]:
    found = _Findings(f"enrolment of {enrolment.install}")
    await found.check("credential", enrolled_or_able(enrolment, enrolment_file, data, trust))
    return found.all


async def _disk(data: Path) -> list[Finding]:
    found = _Findings("this machine")

    def look() -> str:
        said = f"{data} is on a disk with {room(data)}"
        if not has_room(data):
            raise Fails(
                f"{said}: it is full",
                "Free space there; what waits for it goes on by itself.",
            )
        try:
            bounded_logs = has_holes(data)
        except OSError as error:
            raise Fails(f"{said}, and cannot be written: {error.strerror}", WORKERS_USER) from None
        if bounded_logs:
            return said
        return f"{said}; its file system has no holes, so logs of tools are kept in full"

    await found.check("disk", bounded(look))
    return found.all


async def _tools() -> list[Finding]:
    found = _Findings("this machine")

    def look() -> str:
        try:
            tool = find_terraform()
        except (ToolMissing, EngineFailed, Unreachable) as error:
            raise Fails(error.message, "It has to be on the PATH of the worker's unit.") from None
        return f"{tool.name} {tool.version} at {tool.path}"

    await found.check("terraform", bounded(look))
    return found.all
