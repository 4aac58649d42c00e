"""How much one identity has under way at a time: the rest of it waits, and nobody else does."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from gateway.identity import Identity
from gateway.limits import TooMuch


class _Lane:
    def __init__(self, width: int) -> None:
        self.slots = asyncio.Semaphore(width)
        self.users = 0


class Lanes:
    """A lane for each identity, so many abreast."""

    def __init__(self, what: str, at_once: int, waiting: int) -> None:
        """Bound what each identity does.

        Args:
            what: What goes through a lane, for messages: `pulls`.
            at_once: How many may be under way.
            waiting: How many more may wait for those.
        """
        self._what = what
        self._at_once = at_once
        self._waiting = waiting
        self._lanes: dict[tuple[str, str], _Lane] = {}

    @asynccontextmanager
    async def lane(self, identity: Identity) -> AsyncIterator[None]:
        """Wait for a slot, and hold it.

        Raises:
            TooMuch: too many wait already.
        """
        key = (identity.org, identity.shown)
        lane = self._lanes.setdefault(key, _Lane(self._at_once))
        if lane.users >= self._at_once + self._waiting:
            raise TooMuch(
                f"{identity.shown} has {lane.users} {self._what} under way; wait for some of them"
            )
        lane.users += 1
        try:
            async with lane.slots:
                yield
        finally:
            lane.users -= 1
            if not lane.users:
                del self._lanes[key]
