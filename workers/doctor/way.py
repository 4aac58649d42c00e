"""Checks the way to a host step by step: name, connection, the proxy's tunnel, TLS."""

import asyncio
import ssl
from collections.abc import Awaitable, Callable
from functools import partial

import httpx

from wire.network.egress import Proxy, proxy_to
from wire.network.gateway_address import GatewayAddress
from wire.network.probing import Fails, Host, bounded, connect, handshake, resolve, tunnel
from wire.network.trust import Trust
from workers.doctor.findings import Findings


async def check_way(found: Findings, host: Host) -> bool:
    """Check the way to a host, up to the first failing step; returns whether all steps succeed."""
    addresses: list[str] = []
    reached: list[str] = []

    async def name() -> str:
        addresses.extend(await bounded(partial(resolve, host)))
        known = f"{host.dialled[0]} is {', '.join(addresses)}"
        return f"{known} (a proxy, which resolves {host.name} itself)" if host.proxy else known

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
            return f"{proxy.address} opens a tunnel to {host.address}"

        return await bounded(ask)

    async def tls(trust: ssl.SSLContext) -> str:
        shown = await bounded(partial(handshake, host, reached[0], trust))
        return f"a certificate issued by {shown.issuer!r}, valid until {shown.ends:%Y-%m-%d}"

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


def host_of(url: str, trust: Trust | GatewayAddress) -> Host:
    """The host of a URL, with the proxy and the trusted authorities that the worker uses for it."""
    parsed = httpx.URL(url)
    secure = parsed.scheme == "https"
    return Host(
        parsed.host,
        parsed.port or (443 if secure else 80),
        proxy_to(parsed.host, secure=secure),
        trust.context() if secure else None,
    )
