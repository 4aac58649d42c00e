"""Sends an update again if Temporal put it back because the workflow task failed."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

from temporalio.service import RPCError, RPCStatusCode

T = TypeVar("T")

_PUT_BACK = "unexpected workflow task failure"
"""The answer of Temporal's server (1.32) if the workflow task failed that should have accepted the
update: the workflow continued as new, or ended, just as something else arrived for it."""
_WAITS = (0.1, 0.2, 0.4, 0.8, 1.6)
"""Seconds before each next attempt; the next workflow task comes soon, but nothing announces it."""


async def sent_until_taken(send: Callable[[], Awaitable[T]]) -> T:
    """Send an update, and again while it is put back.

    Args:
        send: Sends it, with the same id each time, so that it is done at most once.

    Raises:
        RPCError: Temporal refuses the update, or has put it back at every attempt.
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
    """Whether the update did not reach the workflow, but may if it is sent again."""
    return error.status == RPCStatusCode.FAILED_PRECONDITION and _PUT_BACK in error.message
