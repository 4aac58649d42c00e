"""Checks whether the control plane can be reached, and whether the worker is enrolled with it."""

import time
from collections.abc import Awaitable
from functools import cache
from pathlib import Path
from typing import Final

import httpx
from pydantic import ValidationError
from temporalio.runtime import Runtime, TelemetryConfig
from temporalio.service import RPCError

from stacks.enrolment import Enrolment
from wire.connection import TemporalAddress, connect_once, reason
from wire.enrolment.messages import SKEW_SECONDS, TIME_PATH, TimeAnswer, skew_in_words
from wire.network.egress import proxy_to
from wire.network.gateway_address import GatewayAddress
from wire.network.httpx_parts import http_proxy_of
from wire.network.probing import SECONDS, Fails, Host
from wire.network.trust import Trust
from workers.doctor.enrolment import enrolled_or_able
from workers.doctor.findings import HELD_BACK, Finding, Findings
from workers.doctor.way import check_way, host_of

_ANSWERS: Final = ("unauthenticated", "permission", "credential")
"""Words in a gateway's refusal of a call without credential; they prove that gRPC gets through."""


def examine_control_plane(
    enrolment: Enrolment, enrolment_file: Path, data: Path, trust: Trust
) -> list[Awaitable[list[Finding]]]:
    """The checks of the gateway, or, without one, of the Temporal server and the registry."""
    if enrolment.gateway is None:
        return [_temporal(enrolment), _releases(enrolment, trust)]
    gateway = GatewayAddress.parse(enrolment.gateway, trust.authorities(enrolment.gateway_ca))
    return [
        _gateway(enrolment, gateway),
        _credential(enrolment, enrolment_file, data, trust),
    ]


async def _gateway(enrolment: Enrolment, gateway: GatewayAddress) -> list[Finding]:
    found = Findings(f"gateway {gateway.target}")
    host = host_of(gateway.url, gateway)
    if not await check_way(found, host):
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
        raise Fails(f"GET {path} has no answer ({type(error).__name__})", HELD_BACK) from None


async def _healthy(client: httpx.AsyncClient) -> str:
    answer = await _answer(client, "/healthz")
    if answer.status_code == 200 and answer.text == "ok\n":
        return "it answers, and is healthy"
    if answer.status_code == 503:
        raise Fails(
            f"it answers that it is not healthy: {answer.text[:200].strip()}",
            "Tell the vendor; the worker goes on once the gateway is healthy again.",
        )
    raise Fails(
        f"something answers that is no gateway: GET /healthz gives {answer.status_code}",
        "Is the address right? Does a proxy answer in its place?",
    )


async def _clock(client: httpx.AsyncClient) -> str:
    before = time.time()
    answer = await _answer(client, TIME_PATH)
    here = (before + time.time()) / 2
    try:
        skew = here - TimeAnswer.model_validate_json(answer.content).time
    except ValidationError:
        raise Fails("it does not answer with its time", "Tell the vendor.") from None
    if abs(skew) > SKEW_SECONDS:
        raise Fails(
            skew_in_words(skew),
            "Set it (timedatectl set-ntp true): checks of certificates and clouds depend on it.",
        )
    return f"within {SKEW_SECONDS / 60:.0f} min of the gateway's ({skew:+.1f} s)"


@cache
def _silent() -> Runtime:
    """A runtime without logging; the SDK's default one prints refused calls on standard output."""
    return Runtime(telemetry=TelemetryConfig(logging=None))


async def _grpc(where: TemporalAddress) -> str:
    try:
        await connect_once(where, runtime=_silent())
    except (RuntimeError, RPCError) as error:
        if not any(one in str(error).lower() for one in _ANSWERS):
            raise Fails(
                f"gRPC has no answer: {reason(error)}",
                "Something on the way may block HTTP/2; exempt this host from TLS inspection.",
            ) from None
    return "HTTP/2 gets through"


async def _temporal(enrolment: Enrolment) -> list[Finding]:
    found = Findings(f"temporal {enrolment.temporal}")
    name, _, port = enrolment.temporal.rpartition(":")
    host = Host(name.strip("[]"), int(port), proxy_to(name))
    if await check_way(found, host):
        where = TemporalAddress(enrolment.temporal, enrolment.namespace, proxy=host.proxy)
        await found.check("grpc", _grpc(where))
    return found.all


async def _releases(enrolment: Enrolment, trust: Trust) -> list[Finding]:
    found = Findings(f"releases {enrolment.releases}")
    await check_way(found, host_of(enrolment.releases, trust))
    return found.all


async def _credential(
    enrolment: Enrolment, enrolment_file: Path, data: Path, trust: Trust
) -> list[Finding]:
    found = Findings(f"enrolment of {enrolment.install}")
    await found.check("credential", enrolled_or_able(enrolment, enrolment_file, data, trust))
    return found.all
