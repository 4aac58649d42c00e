"""A relay in front of Temporal that refuses the calls that a test names, as often as it says."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import grpc
from grpc import StatusCode, aio


@dataclass
class Relay(grpc.GenericRpcHandler):
    """Passes calls on as bytes."""

    temporal: str
    refusals: dict[str, tuple[StatusCode, int]] = field(default_factory=dict)
    """By RPC: the status to refuse it with, and how many times more."""
    address: str = ""

    def service(self, details: grpc.HandlerCallDetails) -> "grpc.RpcMethodHandler[bytes, bytes]":
        method = str(details.method)
        metadata = [
            (key, value)
            for key, value in details.invocation_metadata
            if not key.startswith("grpc-") and key not in ("user-agent", "te", "content-type")
        ]

        async def answer(body: bytes, context: "aio.ServicerContext[bytes, bytes]") -> bytes:
            status, left = self.refusals.get(method.rpartition("/")[2], (StatusCode.OK, 0))
            if left:
                self.refusals[method.rpartition("/")[2]] = (status, left - 1)
                await context.abort(status, "refused by the test")
            try:
                call: aio.UnaryUnaryMultiCallable[bytes, bytes] = self._channel.unary_unary(method)
                return await call(body, metadata=metadata, timeout=context.time_remaining())
            except aio.AioRpcError as error:
                await context.abort(error.code(), error.details() or "")

        return grpc.unary_unary_rpc_method_handler(answer)

    @asynccontextmanager
    async def open(self) -> "AsyncIterator[Relay]":
        server = aio.server()
        server.add_generic_rpc_handlers((self,))
        self.address = f"127.0.0.1:{server.add_insecure_port('127.0.0.1:0')}"
        async with aio.insecure_channel(self.temporal) as self._channel:
            await server.start()
            try:
                yield self
            finally:
                await server.stop(None)
