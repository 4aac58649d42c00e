"""Hands telemetry on to an OTLP collector over HTTP.

What the collector cannot take now is tried again, as the specification of OTLP says, for a while.
Then the oldest goes, and is counted: it is telemetry, and what comes after it matters more.
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
_TELL_AGAIN_SECONDS = 30.0

PATIENCE = Patience(seconds=300.0, first_wait_seconds=0.5, longest_wait_seconds=30.0)
"""With a batch, since it came; what is older is tried once."""


@dataclass
class Handed:
    """Of this process, since it began: how many items."""

    on: int = 0
    dropped: int = 0
    refused_by_collector: int = 0


@dataclass
class Forwarder:
    """Implements `Sink` with a collector's address, the part above `/v1/…`."""

    address: str
    headers: dict[str, str] = field(default_factory=dict)
    """What the collector wants, for example an Authorization."""
    trusted: ssl.SSLContext | None = None
    patience: Patience = PATIENCE
    at_once: int = 4
    """Requests at the same time."""
    clock: Callable[[], float] = time.monotonic
    handed: Handed = field(default_factory=Handed)

    def __post_init__(self) -> None:
        self.address = self.address.rstrip("/")
        self._told = float("-inf")
        self._untold = 0

    async def run(self, queue: TelemetryQueue) -> None:
        """As `Sink` says."""
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
            told_to_wait, reason = await self._send(client, batch)
            if not reason:
                return
            if told_to_wait is None:
                self._drop(batch, reason)
                return
            # Gateways that were refused together do not come again together.
            pause = max(told_to_wait, wait * random.uniform(0.5, 1.0))  # noqa: S311
            if self.clock() + pause > until:
                self._drop(batch, f"{reason}, for {self.patience.seconds:g} s")
                return
            await asyncio.sleep(pause)

    async def _send(self, client: httpx.AsyncClient, batch: Batch) -> tuple[float | None, str]:
        """How long the collector wants to be left alone, None for ever; and why, empty if taken."""
        url = self.address + batch.signal.path
        try:
            async with client.stream("POST", url, content=batch.request) as answer:
                body = await _beginning(answer)
        except httpx.TransportError as error:
            return 0.0, str(error) or type(error).__name__
        if answer.is_success:
            self._count(batch, body)
            return 0.0, ""
        status = answer.status_code
        if status in _TRY_AGAIN:
            after = answer.headers.get("Retry-After", "")
            return min(seconds_of(after), self.patience.seconds), f"it answered {status}"
        return None, f"it answered {status}: {body[:200]!r}"

    def _count(self, batch: Batch, body: bytes) -> None:
        answer: Any = batch.signal.response()
        try:
            answer.ParseFromString(body)
        except DecodeError:
            # Not every collector answers in the encoding that it was asked in.
            rejected = 0
        else:
            rejected = getattr(answer.partial_success, batch.signal.rejected)
        self.handed.on += batch.items - rejected
        if rejected:
            self.handed.refused_by_collector += rejected
            why = answer.partial_success.error_message[:200]
            self._tell(f"took all but {rejected} of {batch.items} items: {why}", rejected)

    def _drop(self, batch: Batch, reason: str) -> None:
        self.handed.dropped += batch.items
        self._tell(f"did not take {batch.items} items, which are dropped: {reason}", batch.items)

    def _tell(self, words: str, items: int) -> None:
        now = self.clock()
        if now - self._told < _TELL_AGAIN_SECONDS:
            self._untold += items
            return
        untold = f"; {self._untold} more since the last line like this" if self._untold else ""
        self._told, self._untold = now, 0
        _log.warning("The collector at %s %s%s", self.address, words, untold)


async def _beginning(answer: httpx.Response) -> bytes:
    body = bytearray()
    async for piece in answer.aiter_bytes():
        body += piece
        if len(body) > _ANSWER_BYTES:
            break
    return bytes(body)
