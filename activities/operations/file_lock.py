"""A file lock between processes, as one process takes, looks at and blocks on it.

The lock belongs to an open file, so it is held until every process that inherited the descriptor is
gone: that is how a whole tree of processes is waited for. The files must lie on a local file
system. Coroutines wait for locks by `locks`; this module is all that the supervisor loads.
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
    """A lock that this process holds, until it is released or forgotten."""

    def __init__(self, descriptor: int) -> None:
        self.descriptor = descriptor

    def release(self) -> None:
        """Gives the lock up in this process; a process that inherited it still holds it."""
        descriptor, self.descriptor = self.descriptor, -1
        if descriptor >= 0:
            os.close(descriptor)

    def __enter__(self) -> "Lock":
        return self

    def __exit__(self, *_: object) -> None:
        self.release()

    # A lock whose waiter left between getting and taking it must not stay held.
    __del__ = release


def is_held(path: Path) -> bool:
    """Whether any process holds the lock exclusively."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        return False
    with Lock(descriptor):
        # Shared, so that two who look do not see each other.
        return not lock(descriptor, SHARED, block=False)


def block_exclusive(path: Path) -> Lock:
    """Holds the lock exclusively; blocks the thread until then."""
    opened = open_lock(path)
    lock(opened.descriptor, EXCLUSIVE)
    return opened


def block_until_free(path: Path) -> None:
    """Blocks the thread until no process holds the lock exclusively."""
    with open_lock(path) as opened:
        lock(opened.descriptor, SHARED)


def open_lock(path: Path) -> Lock:
    """Opens the file, which it creates if need be; nothing is locked yet."""
    make_private_folder(path.parent)
    return Lock(open_private(path, os.O_RDWR))


def lock(descriptor: int, kind: int, *, block: bool = True) -> bool:
    """Locks the open file; says whether it did, which it always does when it may block."""
    with contextlib.suppress(BlockingIOError):
        fcntl.flock(descriptor, kind if block else kind | fcntl.LOCK_NB)
        return True
    return False
