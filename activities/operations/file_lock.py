"""File locks between processes: taking one, checking one, blocking on one.

A lock belongs to an open file, so it is held until every process that inherited the descriptor is
gone. This makes it possible to wait for a whole tree of processes. The files must be on a local
file system. Coroutines use `locks` to wait; the supervisor loads only this module.
"""

import contextlib
import fcntl
import os
from pathlib import Path
from typing import Final

from wire.private_files import make_private_folder, open_private

EXCLUSIVE: Final = fcntl.LOCK_EX
SHARED: Final = fcntl.LOCK_SH


class Lock:
    """A lock that this process holds until `release`, or until the object is garbage-collected."""

    def __init__(self, descriptor: int) -> None:
        self.descriptor = descriptor

    def release(self) -> None:
        """Releases the lock in this process; a process that inherited it still holds it."""
        descriptor, self.descriptor = self.descriptor, -1
        if descriptor >= 0:
            os.close(descriptor)

    def __enter__(self) -> "Lock":
        return self

    def __exit__(self, *_: object) -> None:
        self.release()

    # A waiter may be cancelled after it got the lock and before it received this object.
    __del__ = release


def is_held(path: Path) -> bool:
    """Whether any process holds the lock exclusively."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        return False
    with Lock(descriptor):
        # Shared, so that two processes that check at once do not take each other for a holder.
        return not lock(descriptor, SHARED, block=False)


def block_exclusive(path: Path) -> Lock:
    """Takes the lock exclusively; blocks the thread until it has it."""
    opened = open_lock(path)
    lock(opened.descriptor, EXCLUSIVE)
    return opened


def block_until_free(path: Path) -> None:
    """Blocks the thread until no process holds the lock exclusively."""
    with open_lock(path) as opened:
        lock(opened.descriptor, SHARED)


def open_lock(path: Path) -> Lock:
    """Opens the file, and creates it if it is missing; nothing is locked yet."""
    make_private_folder(path.parent)
    return Lock(open_private(path, os.O_RDWR))


def lock(descriptor: int, kind: int, *, block: bool = True) -> bool:
    """Locks the open file; returns whether it did, which is always True with `block`."""
    with contextlib.suppress(BlockingIOError):
        fcntl.flock(descriptor, kind if block else kind | fcntl.LOCK_NB)
        return True
    return False
