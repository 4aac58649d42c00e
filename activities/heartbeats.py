"""Heartbeats of an activity, in the background, with what it waits for as their details."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from datetime import timedelta

from temporalio import activity

from contracts.activities import HEARTBEAT_TIMEOUT

_PER_TIMEOUT = 4
"""Heartbeats within one timeout: a machine that stalls may miss some."""


class Heart:
    """Beats until it is stopped; `say` changes what a person sees in the Temporal UI."""

    def __init__(self) -> None:
        self._doing = ""

    def say(self, doing: str) -> None:
        """Tell what the activity does or waits for, at once."""
        self._doing = doing
        activity.heartbeat(doing)

    async def beat(self, interval: timedelta) -> None:
        """Heartbeat for ever."""
        while True:
            activity.heartbeat(self._doing)
            await asyncio.sleep(interval.total_seconds())


@asynccontextmanager
async def heartbeating() -> AsyncIterator[Callable[[str], None]]:
    """Heartbeat while the block runs; yields the function that says what it does."""
    timeout = activity.info().heartbeat_timeout or HEARTBEAT_TIMEOUT
    heart = Heart()
    task = asyncio.create_task(heart.beat(timeout / _PER_TIMEOUT))
    try:
        yield heart.say
    finally:
        task.cancel()
        # Not `await task`: a cancel of the activity that arrives now must not pass for the task's.
        await asyncio.wait({task})


def cancelled_by_person() -> bool:
    """Whether the cancellation of the running activity is what a person asked for.

    A lost server, a timeout or a worker that leaves cancel an activity too, and are no reason to
    interrupt a tool.
    """
    details = activity.cancellation_details()
    return details is not None and details.cancel_requested
