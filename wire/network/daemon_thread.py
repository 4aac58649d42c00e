"""Blocking work aside from the event loop, in a thread that nobody waits for at the end.

The loop's own threads are waited for when it ends, and a name server or a host that does not answer
holds one for half a minute: a process that is told to leave would not.
"""

import asyncio
import threading
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")


async def aside(step: Callable[[], T], seconds: float) -> T:
    """Run a step that blocks; raises as it does, or TimeoutError."""
    loop = asyncio.get_running_loop()
    ended: asyncio.Future[T] = loop.create_future()

    def tell(result: T | None, error: Exception | None) -> None:
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
        except Exception as found:  # whatever it is, it is raised where it is waited for
            error = found
        try:
            loop.call_soon_threadsafe(tell, result, error)
        except RuntimeError:
            return  # the loop is closed: nobody waits any more

    threading.Thread(target=work, daemon=True).start()
    return await asyncio.wait_for(ended, seconds)
