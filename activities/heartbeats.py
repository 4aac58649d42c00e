"""Sends an activity's heartbeats in the background; their details say what it does or waits for."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from datetime import timedelta

from temporalio import activity
from temporalio.client import AsyncActivityCancelledError
from temporalio.service import RPCError, RPCStatusCode

from contracts.activities import HEARTBEAT_TIMEOUT

_PER_TIMEOUT = 4
"""Heartbeats within one timeout, so that a machine that stalls may miss some."""

_ANSWER = timedelta(seconds=10)
_ASK_AGAIN_SECONDS = 1.0
_REFUSALS = frozenset(
    {RPCStatusCode.NOT_FOUND, RPCStatusCode.PERMISSION_DENIED, RPCStatusCode.INVALID_ARGUMENT}
)
"""Answers that would be the same if the server were asked again."""


class Heart:
    """Beats until it is stopped; `say` changes what a person sees in the Temporal UI."""

    def __init__(self) -> None:
        self._doing = ""

    def say(self, doing: str) -> None:
        """Report what the activity does or waits for, at once."""
        self._doing = doing
        activity.heartbeat(doing)

    async def beat(self, interval: timedelta) -> None:
        """Heartbeat forever."""
        while True:
            activity.heartbeat(self._doing)
            await asyncio.sleep(interval.total_seconds())


@asynccontextmanager
async def heartbeating() -> AsyncIterator[Callable[[str], None]]:
    """Heartbeat while the block runs; yields a function that sets what the heartbeats say."""
    timeout = activity.info().heartbeat_timeout or HEARTBEAT_TIMEOUT
    heart = Heart()
    task = asyncio.create_task(heart.beat(timeout / _PER_TIMEOUT))
    try:
        yield heart.say
    finally:
        task.cancel()
        # Not `await task`: if the activity is cancelled at this moment, that CancelledError would
        # look like the task's own.
        await asyncio.wait({task})


async def cancelled_by_person() -> bool:
    """Whether the running activity was cancelled because a person asked for it.

    A lost server, a timeout or a worker that shuts down also cancel an activity, and must not
    interrupt its tool. Neither must other ends of the run: if the server sends worker commands (as
    seen with 1.32), activities of a run that was terminated, reset or deleted, timed out or grew
    too large get the same cancellation as those of a cancelled run. So the server is asked: it
    answers a heartbeat either with a requested cancel, or with the error that there is no such run.

    While the server does not answer, this waits.
    """
    details = activity.cancellation_details()
    if details is None or not details.cancel_requested:
        return False
    while (asked_for := await _is_asked_for()) is None:  # noqa: ASYNC110 - a server is asked
        await asyncio.sleep(_ASK_AGAIN_SECONDS)
    return asked_for


async def _is_asked_for() -> bool | None:
    """Whether the server says that a cancel was requested; None if it does not answer."""
    handle = activity.client().get_async_activity_handle(task_token=activity.info().task_token)
    try:
        await handle.heartbeat(rpc_timeout=_ANSWER)
    except AsyncActivityCancelledError as error:
        return error.details is not None and error.details.cancel_requested
    except RPCError as error:
        return False if error.status in _REFUSALS else None
    return False
