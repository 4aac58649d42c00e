"""The queue of telemetry that waits for the sink, limited in bytes, in total and per sender."""

import asyncio
import time
from collections import Counter, deque
from dataclasses import dataclass, field
from typing import Protocol

from google.protobuf.message import Message

from gateway.identity import Identity
from gateway.telemetry.signals import Signal


@dataclass(frozen=True)
class Batch:
    """One request, limited and stamped."""

    signal: Signal
    sender: Identity
    request: bytes
    """Encoded as protobuf."""
    items: int
    at: float = field(default_factory=time.monotonic)
    """When it arrived."""

    def parsed(self) -> Message:
        """The request as a message."""
        message = self.signal.request()
        message.ParseFromString(self.request)
        return message


class Full(Exception):
    """There is no room now; `everybody` says whether that concerns all senders or only this one."""

    def __init__(self, reason: str, everybody: bool) -> None:
        super().__init__(reason)
        self.everybody = everybody


class Sink(Protocol):
    """The destination of telemetry."""

    async def run(self, queue: "TelemetryQueue") -> None:
        """Take batches from the queue until cancelled."""


class TelemetryQueue:
    """Passes batches from the intake, which never waits, to the sink."""

    def __init__(self, most_bytes: int, most_bytes_each: int) -> None:
        """Hold at most `most_bytes` in all, and `most_bytes_each` of each identity."""
        self._most = most_bytes
        self._most_each = most_bytes_each
        self._batches: deque[Batch] = deque()
        self._held = 0
        self._held_of: Counter[tuple[str, str]] = Counter()
        self._news = asyncio.Event()
        self._idle = asyncio.Event()
        self._idle.set()

    @property
    def held_bytes(self) -> int:
        """The bytes of everything that waits or is being sent."""
        return self._held

    def put(self, batch: Batch) -> None:
        """Add a batch.

        Raises:
            Full: there is no room.
        """
        key, size = _key(batch), len(batch.request)
        if self._held_of[key] + size > self._most_each:
            raise Full(f"{batch.sender.shown} has too much that waits to be handed on", False)
        if self._held + size > self._most:
            raise Full("too much telemetry waits to be handed on", True)
        self._held += size
        self._held_of[key] += size
        self._batches.append(batch)
        self._idle.clear()
        self._news.set()

    async def take(self) -> Batch:
        """The oldest batch, once there is one; it occupies its room until `done`."""
        while not self._batches:
            self._news.clear()
            await self._news.wait()
        return self._batches.popleft()

    def take_now(self, most: int) -> list[Batch]:
        """At most `most` batches that are there already, oldest first."""
        return [self._batches.popleft() for _ in range(min(most, len(self._batches)))]

    def done(self, batch: Batch) -> None:
        """Free the room of a batch that was forwarded, stored or dropped."""
        key, size = _key(batch), len(batch.request)
        self._held -= size
        self._held_of[key] -= size
        if not self._held_of[key]:
            del self._held_of[key]
        if not self._held and not self._batches:
            self._idle.set()

    async def empty(self) -> None:
        """Wait until no batch waits or is being sent."""
        await self._idle.wait()


def _key(batch: Batch) -> tuple[str, str]:
    return batch.sender.org, batch.sender.shown
