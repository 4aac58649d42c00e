"""OTLP over HTTP: three routes that accept telemetry, within limits.

Requests are parsed, decompressed and stamped one at a time in a separate thread, so whatever
somebody sends, the gateway's other work goes on, and its memory stays within bounds.
"""

import asyncio
import logging
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field

from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from gateway.bodies import NotGzip, TooLarge, decompressed
from gateway.http.callers import Callers, Refused
from gateway.identity import Identity
from gateway.telemetry.encoding import Encoding, NotUnderstood
from gateway.telemetry.queue import Batch, Full, TelemetryQueue
from gateway.telemetry.signals import SIGNALS, Signal
from gateway.telemetry.stamping import Bounds, TooMany, stamp

_log = logging.getLogger(__name__)

COUNTED_AS = "telemetry"
_RETRY_SECONDS = 5


@dataclass(frozen=True)
class IntakeLimits:
    """How much the intake accepts at a time."""

    body_bytes: int = 4 * 1024 * 1024
    """The largest body, as sent and also after decompression."""
    json_bytes: int = 1024 * 1024
    """The largest body in JSON."""
    body_seconds: float = 20.0
    """How long a body may take to arrive; meanwhile it occupies memory."""
    requests: int = 32
    """How many bodies of all identities may be in memory at the same time."""
    requests_each: int = 4
    bounds: Bounds = field(default_factory=Bounds)


class Intake:
    """Accepts telemetry, and puts it into the queue."""

    def __init__(self, callers: Callers, queue: TelemetryQueue, limits: IntakeLimits) -> None:
        self._callers = callers
        self._queue = queue
        self._limits = limits
        self._busy: Counter[tuple[str, str]] = Counter()
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="telemetry")

    def routes(self) -> list[BaseRoute]:
        """The routes, to be served at the root."""
        return [Route(one.path, self._endpoint(one), methods=["POST"]) for one in SIGNALS]

    def close(self) -> None:
        """Accept nothing more."""
        self._thread.shutdown(wait=False, cancel_futures=True)

    def _endpoint(self, signal: Signal) -> Callable[[Request], Awaitable[Response]]:
        async def take(request: Request) -> Response:
            encoding = Encoding.named(request.headers.get("Content-Type", ""))
            try:
                return await self._take(signal, encoding, request)
            except Refused as refused:
                self._callers.denied(request, refused, COUNTED_AS)
                return _refusal(encoding, refused)
            except ClientDisconnect:
                return Response(status_code=499)

        return take

    async def _take(self, signal: Signal, encoding: Encoding | None, request: Request) -> Response:
        identity = self._callers.admit(request)
        if encoding is None:
            known = " or ".join(one.value for one in Encoding)
            raise Refused(415, f"Content-Type is neither {known}", identity=identity)
        packing = request.headers.get("Content-Encoding", "identity").strip().lower()
        if packing not in ("identity", "gzip"):
            raise Refused(415, "Content-Encoding is neither identity nor gzip", identity=identity)
        with self._room(identity):
            most = self._most(encoding)
            body = await self._read(request, identity, most)
            loop = asyncio.get_running_loop()
            try:
                batch, dropped = await loop.run_in_executor(
                    self._thread, self._understood, signal, encoding, packing, identity, body
                )
                if batch.items:
                    self._queue.put(batch)
            except TooLarge as error:
                raise _too_large(identity, most) from error
            except (NotGzip, NotUnderstood, TooMany) as error:
                raise Refused(400, str(error), identity=identity) from error
            except Full as error:
                raise Refused(
                    503 if error.everybody else 429,
                    str(error),
                    retry_after=_RETRY_SECONDS,
                    identity=identity,
                ) from error
        self._callers.audit.allowed(COUNTED_AS)
        why = "over the gateway's bounds: too many items at once, or too large ones"
        return Response(
            encoding.answer(signal, dropped, why if dropped else ""), media_type=encoding.value
        )

    @contextmanager
    def _room(self, identity: Identity) -> Iterator[None]:
        key = identity.quota_key
        if self._busy[key] >= self._limits.requests_each:
            raise Refused(
                429,
                f"{identity.shown} sends {self._limits.requests_each} requests at once already",
                retry_after=_RETRY_SECONDS,
                identity=identity,
            )
        if self._busy.total() >= self._limits.requests:
            raise Refused(
                503,
                "the gateway takes in too much telemetry at this moment",
                retry_after=_RETRY_SECONDS,
                identity=identity,
            )
        self._busy[key] += 1
        try:
            yield
        finally:
            self._busy[key] -= 1
            if not self._busy[key]:
                del self._busy[key]

    def _most(self, encoding: Encoding) -> int:
        """The largest body, in bytes."""
        limits = self._limits
        if encoding is Encoding.JSON:
            return min(limits.json_bytes, limits.body_bytes)
        return limits.body_bytes

    async def _read(self, request: Request, identity: Identity, most: int) -> bytes:
        said = request.headers.get("Content-Length", "")
        if said.isdecimal() and int(said) > most:
            raise _too_large(identity, most)
        body = bytearray()
        try:
            async with asyncio.timeout(self._limits.body_seconds):
                async for piece in request.stream():
                    body += piece
                    if len(body) > most:
                        raise _too_large(identity, most)
        except TimeoutError as error:
            took = f"the body took over {self._limits.body_seconds:g} s to arrive"
            raise Refused(408, took, identity=identity) from error
        return bytes(body)

    def _understood(
        self, signal: Signal, encoding: Encoding, packing: str, identity: Identity, body: bytes
    ) -> tuple[Batch, int]:
        """Parses and stamps a body; runs in the thread."""
        limits = self._limits
        if packing == "gzip":
            body = decompressed(body, self._most(encoding))
        request = encoding.read(signal, body)
        stamped = stamp(signal, request, identity, limits.bounds)
        batch = Batch(signal, identity, request.SerializeToString(), stamped.items)
        return batch, stamped.dropped


def _too_large(identity: Identity, most: int) -> Refused:
    return Refused(
        413,
        f"the body has over {most} bytes, as it comes or unpacked; send smaller batches",
        identity=identity,
    )


def _refusal(encoding: Encoding | None, refused: Refused) -> Response:
    encoding = encoding or Encoding.JSON
    return Response(
        encoding.refusal(refused.reason),
        status_code=refused.status,
        headers=refused.headers,
        media_type=encoding.value,
    )
