"""An update that Temporal put back with the task it came in is sent again."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

from temporalio.service import RPCError, RPCStatusCode

T = TypeVar("T")

_PUT_BACK = "unexpected workflow task failure"
"""What Temporal's server (1.32) says where the task failed that was to accept the update. That is
so where the workflow continued as new, or ended, just as something else arrived for it."""
_WAITS = (0.1, 0.2, 0.4, 0.8, 1.6)
"""Seconds before each next attempt: the task that follows comes at once, and nothing tells when."""


async def sent_until_taken(send: Callable[[], Awaitable[T]]) -> T:
    """Send an update, and again while it is put back.

    Args:
        send: Sends it, with the same id each time: then it is done once at most.

    Raises:
        RPCError: as Temporal refuses it; put back once more after all attempts, too.
    """
    for wait in _WAITS:
        try:
            return await send()
        except RPCError as error:
            if not was_put_back(error):
                raise
        await asyncio.sleep(wait)
    return await send()


def was_put_back(error: RPCError) -> bool:
    """Whether the update never reached the workflow, and may the next time."""
    return error.status == RPCStatusCode.FAILED_PRECONDITION and _PUT_BACK in error.message
