"""Waiting for file locks without polling and without blocking the event loop.

Each wait runs in a daemon thread that blocks in the system call. A cancelled wait leaves its thread
behind, which releases the lock as soon as it gets it.
"""

import asyncio
import threading
from collections.abc import Callable
from pathlib import Path

from activities.operations.file_lock import EXCLUSIVE, SHARED, Lock, lock, open_lock


async def hold(path: Path, waits: Callable[[], None] = lambda: None) -> Lock:
    """Waits for the lock and takes it exclusively; calls `waits` if it is not free at once."""
    return await _get(path, EXCLUSIVE, waits)


async def wait_free(path: Path) -> None:
    """Waits until no process holds the lock exclusively."""
    (await _get(path, SHARED, lambda: None)).release()


async def _get(path: Path, kind: int, waits: Callable[[], None]) -> Lock:
    opened = open_lock(path)
    if lock(opened.descriptor, kind, block=False):
        return opened
    waits()
    loop = asyncio.get_running_loop()
    got: asyncio.Future[Lock] = loop.create_future()

    def deliver() -> None:
        if got.cancelled():
            opened.release()
        else:
            got.set_result(opened)

    def block() -> None:
        lock(opened.descriptor, kind)
        if kind == SHARED:  # this caller only wanted to know when the lock is free
            opened.release()
        try:
            loop.call_soon_threadsafe(deliver)
        except RuntimeError:  # the loop is closed: nobody waits any more
            opened.release()

    threading.Thread(target=block, name=f"lock {path.name}", daemon=True).start()
    try:
        return await got
    except asyncio.CancelledError:
        # The lock arrived in the same turn of the loop as the cancellation: release it here.
        if not got.cancelled():
            opened.release()
        raise
