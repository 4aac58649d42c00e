"""The proxy: receives workers' calls, and passes those that their identity may make to Temporal.

The statuses it answers itself, and how the SDK reacts:

- UNAUTHENTICATED: there is no credential, or a forged one. An SDK worker drops a completion that is
  answered so; it shuts down if polls have failed for 60 s, including time without any answer.
- PERMISSION_DENIED: the identity is revoked, asks for something that no worker needs, or for a task
  that is not its own. An SDK worker reacts in the same way.
- RESOURCE_EXHAUSTED: the identity is over a limit. The SDK retries, more slowly; if the text begins
  with `grpc: received message larger than max`, it fails the activity.
- UNAVAILABLE: Temporal is away, or refuses the gateway itself; or the credential has expired, which
  its worker renews as soon as it can. The SDK retries.

A credential that expires while a poll waits does not end the poll; the next call is refused.
Temporal's own answers are passed on, with their details.
"""

import asyncio
import logging
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, NoReturn

import grpc
from grpc import aio

from gateway.audit import OTHER_RPC, Audit
from gateway.bodies import NotGzip, TooLarge, decompressed
from gateway.front.peers import Peers, port_of
from gateway.identity import Access, Authenticator, Expired, Identity, Standing, Unauthenticated
from gateway.limits import Allowances, TooMuch
from gateway.rpc.lanes import Lanes
from gateway.rpc.policy import WORKFLOW_SERVICE, Call, Malformed, Refused
from gateway.rpc.upstream import Metadata, Upstream

BODY_SECONDS = 30.0
"""How long a message may take to arrive; meanwhile it occupies memory."""
HELD_SECONDS = 60.0
"""How long a poll is held while it may get no work; Temporal holds an empty one as long."""

_PASSED_ON = frozenset(
    {
        "client-name",
        "client-version",
        "supported-features",
        "supported-server-versions",
        "temporal-resource-id",
    }
)
"""The metadata of a worker's call that is passed on to Temporal."""

_DETAILS = "grpc-status-details-bin"
"""The only trailer of Temporal's that is passed on to workers: the details of an error."""

_EMPTY = b""
"""The answer to a poll that found nothing: a message without fields."""

_Status = grpc.StatusCode
_Context = aio.ServicerContext[bytes, bytes]

_log = logging.getLogger(__name__)


class _Denied(Exception):
    """The gateway itself answers a call with an error."""

    def __init__(self, status: grpc.StatusCode, reason: str) -> None:
        super().__init__(reason)
        self.status = status
        self.reason = reason


@dataclass(eq=False, kw_only=True)
class Proxy(grpc.GenericRpcHandler):
    """Handles every gRPC method, known or not."""

    calls: Mapping[str, Call]
    """What may be called; everything else is denied."""
    upstream: Upstream
    """The connection to Temporal."""
    authenticator: Authenticator
    """Identifies callers by their credentials."""
    access: Access
    """Knows the standing of each identity, and when it changes."""
    allowances: Allowances
    """Limits how much each identity may use."""
    bodies: Lanes
    """Limits how many messages of each identity are in memory at a time."""
    audit: Audit
    """Counts calls, and logs denials."""
    peers: Peers
    """Knows where connections come from."""
    _draining: bool = field(default=False, init=False)
    _held: set[asyncio.Future[None]] = field(default_factory=set, init=False)

    def drain(self) -> None:
        """Answer every poll as empty; other calls go on."""
        self._draining = True
        for wake in self._held:
            _wake(wake)

    def service(
        self, handler_call_details: grpc.HandlerCallDetails
    ) -> "grpc.RpcMethodHandler[Any, Any]":
        """Decide by the headers, before any of the body is read."""
        method = _text(handler_call_details.method)
        sent = handler_call_details.invocation_metadata
        identity: Identity | None = None
        try:
            identity = self.authenticator.authenticate(_authorization(sent))
            call = self._admit(method, identity)
        except Expired as error:
            return self._denying(method, error.identity, self._not_now(error))
        except Unauthenticated as error:
            denied = _Denied(_Status.UNAUTHENTICATED, str(error))
            return self._denying(method, None, denied)
        except _Denied as error:
            return self._denying(method, identity, error)
        # As a stream, so that the body is not received before there is room for it.
        return grpc.stream_unary_rpc_method_handler(
            partial(self._answer, method, call, identity, _passed_on(sent, identity))
        )

    def _not_now(self, expired: Expired) -> _Denied:
        if self.access.standing(expired.identity) is Standing.REVOKED:
            return _revoked(expired.identity)
        return _Denied(_Status.UNAVAILABLE, str(expired))

    def _admit(self, method: str, identity: Identity) -> Call:
        if self.access.standing(identity) is Standing.REVOKED:
            raise _revoked(identity)
        call = self.calls.get(method)
        if call is None:
            raise _Denied(
                _Status.PERMISSION_DENIED,
                f"a worker may not call {method[:200]}: the gateway lets through only what an "
                "activity worker needs",
            )
        try:
            self.allowances.call(identity)
        except TooMuch as error:
            raise _Denied(_Status.RESOURCE_EXHAUSTED, str(error)) from error
        return call

    def _denying(
        self, method: str, identity: Identity | None, denied: _Denied
    ) -> "grpc.RpcMethodHandler[Any, Any]":
        # As a stream, so that the answer goes out without the request's body being received.
        async def deny(_: AsyncIterator[bytes], context: _Context) -> None:
            await self._deny(method, identity, denied, context)

        return grpc.stream_stream_rpc_method_handler(deny)

    async def _deny(
        self, method: str, identity: Identity | None, denied: _Denied, context: _Context
    ) -> NoReturn:
        self.peers.answered(port_of(context.peer()))
        known = method in self.calls
        self.audit.denied(
            identity=identity,
            method=method,
            counted_as=method.removeprefix(WORKFLOW_SERVICE) if known else OTHER_RPC,
            status=denied.status.name,
            reason=denied.reason,
            peer=self.peers.behind(context.peer()),
        )
        await context.abort(denied.status, denied.reason)

    async def _answer(
        self,
        method: str,
        call: Call,
        identity: Identity,
        metadata: Metadata,
        _: AsyncIterator[bytes],
        context: _Context,
    ) -> bytes:
        self.peers.prove(port_of(context.peer()))
        try:
            async with self.bodies.lane(identity):
                body = _bound(call, identity, await self._received(context, identity))
                seconds = min(context.time_remaining() or call.longest, call.longest)
                self.audit.allowed(call.name)
                if not call.waits:
                    answer = await self.upstream.start(
                        method, waits=False, body=body, metadata=metadata, seconds=seconds
                    )
            if call.waits:
                with self.allowances.poll(identity):
                    answer = await self._poll(method, identity, body, metadata, seconds)
            return answer if call.seal is None else call.seal(answer, identity)
        except _Denied as denied:
            await self._deny(method, identity, denied, context)
        except TooMuch as error:
            over = _Denied(_Status.RESOURCE_EXHAUSTED, str(error))
            await self._deny(method, identity, over, context)
        except Malformed as error:
            _log.error("Temporal's answer to %s cannot be read: %s", call.name, error)
            await context.abort(_Status.INTERNAL, "Temporal's answer cannot be read")
        except aio.AioRpcError as error:
            await self._pass_on(call, error, context)

    async def _received(self, context: _Context, identity: Identity) -> bytes:
        try:
            async with asyncio.timeout(BODY_SECONDS):
                request = await context.read()
        except TimeoutError as error:
            late = f"the message took over {BODY_SECONDS:g} s to arrive"
            raise _Denied(_Status.UNAVAILABLE, late) from error
        if not isinstance(request, bytes):
            raise _Denied(_Status.INVALID_ARGUMENT, "there is no message in the call")
        self.allowances.body(identity, len(request))
        return request

    async def _poll(
        self, method: str, identity: Identity, body: bytes, metadata: Metadata, seconds: float
    ) -> bytes:
        """Wait for work for as long as the identity may have it."""
        loop = asyncio.get_running_loop()
        began = loop.time()
        waiting: aio.UnaryUnaryCall[bytes, bytes] | None = None
        try:
            while True:
                # Subscribed before the standing is read, so that no change is missed.
                changing = self.access.changed(identity)
                try:
                    standing = self.access.standing(identity)
                    if standing is Standing.REVOKED:
                        raise _revoked(identity)
                    held = self._draining or standing is Standing.PAUSED
                    if held and waiting is not None and not waiting.done():
                        waiting.cancel()
                        waiting = None
                    left = began + min(seconds, HELD_SECONDS) - loop.time()
                    if self._draining or (held and left <= 0):
                        return _EMPTY
                    if not held and waiting is None:
                        waiting = self.upstream.start(
                            method,
                            waits=True,
                            body=body,
                            metadata=metadata,
                            seconds=began + seconds - loop.time(),
                        )
                    await self._first_of(changing, waiting, left)
                    if waiting is not None and waiting.done():
                        return await waiting
                finally:
                    changing.cancel()
        finally:
            if waiting is not None:
                waiting.cancel()

    async def _first_of(
        self,
        changing: "asyncio.Future[None]",
        waiting: "aio.UnaryUnaryCall[bytes, bytes] | None",
        left: float,
    ) -> None:
        """Wait until the standing changes, the answer arrives, a held poll's time is over, or the
        gateway drains."""
        loop = asyncio.get_running_loop()
        wake: asyncio.Future[None] = loop.create_future()
        changing.add_done_callback(lambda _: _wake(wake))
        timer = None
        if waiting is None:
            timer = loop.call_later(left, _wake, wake)
        else:
            waiting.add_done_callback(lambda _: _wake(wake))
        self._held.add(wake)
        try:
            await wake
        finally:
            self._held.discard(wake)
            if timer is not None:
                timer.cancel()

    async def _pass_on(self, call: Call, error: aio.AioRpcError, context: _Context) -> NoReturn:
        """Pass on Temporal's error, unless it concerns the gateway and not the worker."""
        status, reason = error.code(), error.details() or ""
        if status in (_Status.UNAUTHENTICATED, _Status.PERMISSION_DENIED):
            # The worker would shut down for something that it cannot change.
            _log.error("Temporal refuses the gateway itself at %s: %s", call.name, reason)
            await context.abort(
                _Status.UNAVAILABLE, "the gateway has no access to Temporal at the moment"
            )
        if status is _Status.UNAVAILABLE:
            _log.info("Temporal is unavailable at %s: %s", call.name, reason)
            # gRPC's own message contains addresses behind the gateway.
            await context.abort(status, "Temporal does not answer the gateway at the moment")
        if status is _Status.CANCELLED:
            await context.abort(_Status.UNAVAILABLE, "Temporal ended the call")
        details = [
            (key, value) for key, value in error.trailing_metadata() or () if key == _DETAILS
        ]
        await context.abort(status, reason, tuple(details))


def _bound(call: Call, identity: Identity, request: bytes) -> bytes:
    try:
        return call.bind(decompressed(request, call.limit), identity)
    except Refused as error:
        raise _Denied(_Status.PERMISSION_DENIED, str(error)) from error
    except TooLarge as error:
        raise _Denied(_Status.RESOURCE_EXHAUSTED, str(error)) from error
    except (Malformed, NotGzip) as error:
        raise _Denied(_Status.INVALID_ARGUMENT, str(error)) from error


def _revoked(identity: Identity) -> _Denied:
    return _Denied(
        _Status.PERMISSION_DENIED,
        f"the access of {identity.shown} is revoked; if it should work again, the vendor has to "
        "enrol it anew",
    )


def _authorization(sent: Sequence[tuple[str, str | bytes]]) -> str | None:
    """The value of the Authorization header; None if there is not exactly one."""
    values = [value for key, value in sent if key == "authorization"]
    return _text(values[0]) if len(values) == 1 else None


def _passed_on(sent: Sequence[tuple[str, str | bytes]], identity: Identity) -> Metadata:
    passed = [(key, value) for key, value in sent if key in _PASSED_ON]
    return [*passed, ("temporal-namespace", identity.org)]


def _text(value: str | bytes) -> str:
    return value.decode("latin-1") if isinstance(value, bytes) else value


def _wake(wake: "asyncio.Future[None]") -> None:
    if not wake.done():
        wake.set_result(None)
