"""Forwards telemetry to an OTLP collector over HTTP.

If the collector cannot accept a batch now, it is retried for a while, as OTLP specifies. Then it is
dropped and counted, oldest first, since newer telemetry matters more.
"""

import asyncio
import logging
import random
import ssl
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import httpx
from google.protobuf.message import DecodeError

from gateway.telemetry.queue import Batch, TelemetryQueue
from wire.backoff import Patience
from wire.network.retry_after import seconds_of

_log = logging.getLogger(__name__)

_TRY_AGAIN = frozenset({429, 502, 503, 504})
_TIMEOUT = httpx.Timeout(10, connect=5)
_ANSWER_BYTES = 64 * 1024
_SECONDS_BETWEEN_LINES = 30.0

PATIENCE = Patience(seconds=300.0, first_wait_seconds=0.5, longest_wait_seconds=30.0)
"""How long a batch is tried, counted from its arrival; an older batch is tried only once."""


@dataclass
class Forwarder:
    """Implements `Sink` with a collector; `address` is the part above `/v1/…`."""

    address: str
    headers: dict[str, str] = field(default_factory=dict)
    """Headers that the collector requires, for example Authorization."""
    trusted: ssl.SSLContext | None = None
    patience: Patience = PATIENCE
    at_once: int = 4
    """How many requests may be under way at the same time."""
    clock: Callable[[], float] = time.monotonic

    def __post_init__(self) -> None:
        self.address = self.address.rstrip("/")
        self._last_line = float("-inf")
        self._unlogged = 0

    async def run(self, queue: TelemetryQueue) -> None:
        """As in `Sink`."""
        async with (
            httpx.AsyncClient(
                timeout=_TIMEOUT,
                trust_env=False,
                verify=self.trusted or True,
                headers={
                    **self.headers,
                    "Content-Type": "application/x-protobuf",
                    "User-Agent": "exclave",
                },
            ) as client,
            asyncio.TaskGroup() as senders,
        ):
            for _ in range(self.at_once):
                senders.create_task(self._send_all(client, queue))

    async def _send_all(self, client: httpx.AsyncClient, queue: TelemetryQueue) -> None:
        while True:
            batch = await queue.take()
            try:
                await self._insist(client, batch)
            finally:
                queue.done(batch)

    async def _insist(self, client: httpx.AsyncClient, batch: Batch) -> None:
        until = batch.at + self.patience.seconds
        for wait in self.patience.waits():
            retry_after, reason = await self._send(client, batch)
            if not reason:
                return
            if retry_after is None:
                self._drop(batch, reason)
                return
            # Random, so that gateways that were refused together do not retry together.
            pause = max(retry_after, wait * random.uniform(0.5, 1.0))  # noqa: S311
            if self.clock() + pause > until:
                self._drop(batch, f"{reason}, for {self.patience.seconds:g} s")
                return
            await asyncio.sleep(pause)

    async def _send(self, client: httpx.AsyncClient, batch: Batch) -> tuple[float | None, str]:
        """How long to wait before a retry (None: never retry), and why; empty if accepted."""
        url = self.address + batch.signal.path
        try:
            async with client.stream("POST", url, content=batch.request) as answer:
                body = await _beginning(answer)
        except httpx.TransportError as error:
            return 0.0, str(error) or type(error).__name__
        if answer.is_success:
            self._warn_of_rejected(batch, body)
            return 0.0, ""
        status = answer.status_code
        if status in _TRY_AGAIN:
            after = answer.headers.get("Retry-After", "")
            return min(seconds_of(after), self.patience.seconds), f"it answered {status}"
        return None, f"it answered {status}: {body[:200]!r}"

    def _warn_of_rejected(self, batch: Batch, body: bytes) -> None:
        answer: Any = batch.signal.response()
        try:
            answer.ParseFromString(body)
        except DecodeError:
            # Not every collector answers in the encoding of the request.
            return
        rejected = getattr(answer.partial_success, batch.signal.rejected)
        if rejected:
            why = answer.partial_success.error_message[:200]
            self._warn(f"accepted all but {rejected} of {batch.items} items: {why}", rejected)

    def _drop(self, batch: Batch, reason: str) -> None:
        self._warn(f"did not accept {batch.items} items, which are dropped: {reason}", batch.items)

    def _warn(self, words: str, items: int) -> None:
        now = self.clock()
        if now - self._last_line < _SECONDS_BETWEEN_LINES:
            self._unlogged += items
            return
        more = f"; {self._unlogged} more since the last line like this" if self._unlogged else ""
        self._last_line, self._unlogged = now, 0
        _log.warning("The collector at %s %s%s", self.address, words, more)


async def _beginning(answer: httpx.Response) -> bytes:
    body = bytearray()
    async for piece in answer.aiter_bytes():
        body += piece
        if len(body) > _ANSWER_BYTES:
            break
    return bytes(body)
