"""Reads files that a tool or a script has left, after checking what they are.

In the place of a file there may be a folder, a link to something that the tool must not read, a
pipe that nobody writes to, or more data than fits into memory.
"""

import errno
import os
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Final

LARGEST_LEFT_BYTES: Final = 1024 * 1024 * 1024
"""The limit for files that are needed as a whole: a state, a plan, outputs."""

_KINDS: Final[tuple[tuple[Callable[[int], bool], str], ...]] = (
    (stat.S_ISDIR, "a folder"),
    (stat.S_ISFIFO, "a pipe"),
    (stat.S_ISSOCK, "a socket"),
    (stat.S_ISLNK, "a link"),
)


class NoFileLeft(Exception):
    """What lies there is not a regular file, or is too large."""

    def __init__(self, path: Path, why: str) -> None:
        super().__init__(f"{path} {why}. Remove it, or fix what left it there")
        self.path, self.why = path, why
        """For example `is a folder, not a file`."""


def open_left(path: Path) -> int:
    """Opens a regular file for reading, safely whatever lies there, and returns its descriptor.

    Raises:
        NoFileLeft: it is not a regular file.
        OSError: nothing is there, or it may not be read.
    """
    flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
    try:
        descriptor = os.open(path, flags)
    except OSError as error:
        if error.errno not in {errno.ELOOP, errno.EMLINK, errno.ENXIO, errno.ENODEV}:
            raise
        raise NoFileLeft(path, f"is {_kind(path.lstat().st_mode)}, not a file") from None
    mode = os.fstat(descriptor).st_mode
    if not stat.S_ISREG(mode):
        os.close(descriptor)
        raise NoFileLeft(path, f"is {_kind(mode)}, not a file")
    return descriptor


def read_left(path: Path, limit: int = LARGEST_LEFT_BYTES) -> bytes:
    """Reads a regular file that a tool has left.

    Args:
        path: The file.
        limit: The most bytes that it may have; a larger file is not read.

    Raises:
        NoFileLeft: it is not a regular file, or too large.
        OSError: nothing is there, or it may not be read.
    """
    with os.fdopen(open_left(path), "rb") as file:
        size = os.fstat(file.fileno()).st_size
        # The file may grow while it is read.
        content = file.read(limit + 1) if size <= limit else b""
    if max(size, len(content)) > limit:
        raise NoFileLeft(path, f"has {max(size, len(content))} bytes; at most {limit} are allowed")
    return content


def _kind(mode: int) -> str:
    return next((name for is_one, name in _KINDS if is_one(mode)), "a device")
