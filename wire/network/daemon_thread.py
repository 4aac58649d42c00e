"""Runs blocking work in a daemon thread, which does not delay the end of the process.

An event loop waits for its own threads when it ends. An unresponsive name server or host can block
one for half a minute, so a process that is asked to stop would not.
"""

import asyncio
import threading
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")


async def in_daemon_thread(step: Callable[[], T], seconds: float) -> T:
    """Run a blocking step; raises what it raises, or TimeoutError."""
    loop = asyncio.get_running_loop()
    ended: asyncio.Future[T] = loop.create_future()

    def report(result: T | None, error: Exception | None) -> None:
        if ended.done():
            return
        if error is not None:
            ended.set_exception(error)
        else:
            ended.set_result(result)  # type: ignore[arg-type]

    def work() -> None:
        result, error = None, None
        try:
            result = step()
        except Exception as found:  # any exception: the caller who waits gets it
            error = found
        try:
            loop.call_soon_threadsafe(report, result, error)
        except RuntimeError:
            return  # the loop is closed, so nobody waits any more

    threading.Thread(target=work, daemon=True).start()
    return await asyncio.wait_for(ended, seconds)
