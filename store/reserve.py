"""A reserve of disk space for data that must not be lost when something else fills the disk.

It is a file in the worker's data folder. If a state, a tool's end or an operation's outcome cannot
be written, the reserve is removed, and the write is tried once more. The reserve is created again
when there is room.
"""

import contextlib
import errno
import os
from pathlib import Path
from typing import Final

RESERVE: Final = ".reserve"
_MOST_BYTES = 16 * 1024 * 1024
_PART_OF_DISK: Final = 32
_FREE_TIMES: Final = 4
"""It is created only if there is this many times its size free."""


def is_full(error: BaseException | None) -> bool:
    """Whether the disk is full, or the user's quota is used up."""
    return isinstance(error, OSError) and error.errno in {errno.ENOSPC, errno.EDQUOT}


def keep_reserve(folder: Path) -> bool:
    """Create the reserve in the folder, if there is none and there is room.

    Blocks. Returns whether there is one now; work may go on without it.
    """
    file = folder / RESERVE
    try:
        if file.exists():
            return True
        disk = os.statvfs(folder)
        size = reserve_bytes(disk)
        if disk.f_bavail * disk.f_frsize < _FREE_TIMES * size:
            return False
        incoming = folder / f"{RESERVE}-{os.getpid()}"
        descriptor = os.open(incoming, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            os.posix_fallocate(descriptor, 0, size)
            incoming.replace(file)
        finally:
            os.close(descriptor)
            incoming.unlink(missing_ok=True)
    except (OSError, AttributeError):
        # No room, or a system that cannot allocate space without writing.
        return False
    return True


def has_room(folder: Path) -> bool:
    """Whether the folder's disk has room for work, besides the reserve; blocks."""
    disk = os.statvfs(folder)
    if disk.f_files and not disk.f_favail:
        return False
    return disk.f_bavail * disk.f_frsize >= reserve_bytes(disk) // 4


def give_up_reserve(path: Path) -> bool:
    """Remove the reserve, so that the path can be written; returns whether there was one."""
    for folder in path.parents:
        with contextlib.suppress(FileNotFoundError, PermissionError):
            (folder / RESERVE).unlink()
            return True
    return False


def reserve_bytes(disk: os.statvfs_result) -> int:
    """The size of the reserve for such a disk."""
    return min(_MOST_BYTES, disk.f_blocks * disk.f_frsize // _PART_OF_DISK)
