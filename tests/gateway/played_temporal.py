"""A fake Temporal server, and a gateway in front of it."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import grpc
from grpc import StatusCode, aio

from gateway.limits import Limits
from tests.gateway.authority import Authority
from tests.gateway.gateway_parts import Calling, Credentials, Gateway, Site, install

ACME = install("acme")
OTHER = install("other")


class Played(grpc.GenericRpcHandler):
    """A server that answers as a test wants, and remembers the calls."""

    def __init__(self) -> None:
        self.answer = b""
        self.refusal: tuple[StatusCode, str] | None = None
        self.trailers: tuple[tuple[str, bytes], ...] = ()
        self.holds = False
        self.asked: list[tuple[str, dict[str, str | bytes]]] = []
        self.bodies: list[bytes] = []
        self.left = 0.0
        self.held = asyncio.Event()
        self.cancelled = asyncio.Event()

    def service(self, details: grpc.HandlerCallDetails) -> "grpc.RpcMethodHandler[bytes, bytes]":
        self.asked.append((details.method, dict(details.invocation_metadata)))
        return grpc.unary_unary_rpc_method_handler(self._answered)

    async def _answered(self, body: bytes, context: "aio.ServicerContext[bytes, bytes]") -> bytes:
        self.bodies.append(body)
        self.left = context.time_remaining() or 0.0
        if self.refusal is not None:
            await context.abort(*self.refusal, trailing_metadata=self.trailers)
        if self.holds:
            self.held.set()
            try:
                await asyncio.get_running_loop().create_future()
            finally:
                self.cancelled.set()
        return self.answer


@asynccontextmanager
async def playing(
    authority: Authority, limits: Limits | None = None
) -> AsyncIterator[tuple[Played, Site, Gateway, Calling]]:
    played = Played()
    server = aio.server()
    server.add_generic_rpc_handlers((played,))
    port = server.add_insecure_port("127.0.0.1:0")
    await server.start()
    site = Site(f"127.0.0.1:{port}", authority, Credentials({"acme": ACME, "other": OTHER}))
    site.limits = limits or site.limits
    try:
        async with site.gateway() as gateway, gateway.channel("acme") as calling:
            yield played, site, gateway, calling
    finally:
        await server.stop(None)
