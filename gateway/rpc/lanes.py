"""Limits how much one identity has under way at a time; the rest of its requests wait."""

import asyncio

from gateway.identity import Identity
from gateway.limits import TooMuch


class _Lane:
    def __init__(self, width: int) -> None:
        self.slots = asyncio.Semaphore(width)
        self.users = 0


class Lanes:
    """A lane with a number of slots for each identity."""

    def __init__(self, what: str, at_once: int, waiting: int) -> None:
        """Set the limits of each identity.

        Args:
            what: What uses the slots, for messages: `pulls`.
            at_once: How many may be under way.
            waiting: How many more may wait for a slot.
        """
        self._what = what
        self._at_once = at_once
        self._waiting = waiting
        self._lanes: dict[tuple[str, str], _Lane] = {}

    def lane(self, identity: Identity) -> "Slot":
        """Wait for a slot, and hold it, with `async with`.

        Raises:
            TooMuch: too many wait already.
        """
        return Slot(self, identity)

    async def enter(self, identity: Identity) -> None:
        """Wait for a slot, as `lane` does."""
        lane = self._lanes.setdefault(identity.quota_key, _Lane(self._at_once))
        if lane.users >= self._at_once + self._waiting:
            raise TooMuch(
                f"{identity.shown} has {lane.users} {self._what} under way; wait for some of them"
            )
        lane.users += 1
        try:
            await lane.slots.acquire()
        except asyncio.CancelledError:
            self._left(identity, lane)
            raise

    def leave(self, identity: Identity) -> None:
        """Release the slot."""
        lane = self._lanes[identity.quota_key]
        lane.slots.release()
        self._left(identity, lane)

    def _left(self, identity: Identity, lane: _Lane) -> None:
        lane.users -= 1
        if not lane.users:
            del self._lanes[identity.quota_key]


class Slot:
    """One slot of a lane, held while it is entered."""

    __slots__ = ("_identity", "_lanes")

    def __init__(self, lanes: Lanes, identity: Identity) -> None:
        self._lanes = lanes
        self._identity = identity

    async def __aenter__(self) -> None:
        await self._lanes.enter(self._identity)

    async def __aexit__(self, *_: object) -> None:
        self._lanes.leave(self._identity)
