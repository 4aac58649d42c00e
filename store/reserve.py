"""Room on a disk that is kept for what must not be lost when something else has filled the disk.

It is a file in the worker's data folder. Who cannot write down a state, how a tool ended or what
came of an operation removes it and tries once more; it is made again when there is room.
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
"""It is made where there is this much more room than it takes."""


def is_full(error: BaseException | None) -> bool:
    """Whether the operating system had no room, or the user's share of it was used up."""
    return isinstance(error, OSError) and error.errno in {errno.ENOSPC, errno.EDQUOT}


def keep_reserve(folder: Path) -> bool:
    """Make the reserve of the disk that the folder is on, if there is none and there is room.

    Blocks. Returns whether there is one now: it is no reason to stop that there is none.
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
        # Without room, or on a system that cannot take room without writing.
        return False
    return True


def has_room(folder: Path) -> bool:
    """Whether there is room to work with on the folder's disk, besides the reserve; blocks."""
    disk = os.statvfs(folder)
    if disk.f_files and not disk.f_favail:
        return False
    return disk.f_bavail * disk.f_frsize >= reserve_bytes(disk) // 4


def give_up_reserve(path: Path) -> bool:
    """Give up the reserve for what is to be written at the path; says whether there was one."""
    for folder in path.parents:
        with contextlib.suppress(FileNotFoundError, PermissionError):
            (folder / RESERVE).unlink()
            return True
    return False


def reserve_bytes(disk: os.statvfs_result) -> int:
    """How much is kept on such a disk."""
    return min(_MOST_BYTES, disk.f_blocks * disk.f_frsize // _PART_OF_DISK)
