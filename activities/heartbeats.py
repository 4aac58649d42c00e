"""Heartbeats of an activity, in the background, with what it waits for as their details."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from datetime import timedelta

from temporalio import activity
from temporalio.client import AsyncActivityCancelledError
from temporalio.service import RPCError, RPCStatusCode

from contracts.activities import HEARTBEAT_TIMEOUT

_PER_TIMEOUT = 4
"""Heartbeats within one timeout: a machine that stalls may miss some."""

_ANSWER = timedelta(seconds=10)
_ASK_AGAIN_SECONDS = 1.0
_REFUSALS = frozenset(
    {RPCStatusCode.NOT_FOUND, RPCStatusCode.PERMISSION_DENIED, RPCStatusCode.INVALID_ARGUMENT}
)
"""Asking again would be answered with the same."""


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


async def cancelled_by_person() -> bool:
    """Whether the cancellation of the running activity is what a person asked for.

    A lost server, a timeout or a worker that leaves cancel an activity too, and are no reason to
    interrupt a tool. Nor is what ends the run otherwise: where the server sends worker commands (as
    seen with 1.32), a run that was terminated, reset or deleted, ran into its timeout or grew too
    large has its activities told the same as one that was cancelled. So what is told is proven: to
    a heartbeat the server answers that a cancel was requested, or else that there is no such run.

    While the server is away, this waits for its answer.
    """
    details = activity.cancellation_details()
    if details is None or not details.cancel_requested:
        return False
    while (asked_for := await _is_asked_for()) is None:  # noqa: ASYNC110 - a server is asked
        await asyncio.sleep(_ASK_AGAIN_SECONDS)
    return asked_for


async def _is_asked_for() -> bool | None:
    """The server's word on whether the running activity shall be cancelled; None without one."""
    handle = activity.client().get_async_activity_handle(task_token=activity.info().task_token)
    try:
        await handle.heartbeat(rpc_timeout=_ANSWER)
    except AsyncActivityCancelledError as error:
        return error.details is not None and error.details.cancel_requested
    except RPCError as error:
        return False if error.status in _REFUSALS else None
    return False
