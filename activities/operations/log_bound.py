"""Keeps a tool's log from filling the disk: its beginning and its end stay, the middle is given up.

The tool writes to the file itself, and keeps it: what is given up becomes a hole in it, so that
positions hold. Where the file system has no holes, or the system no way to make one, logs are not
bounded; `exclave worker doctor` says so.

Room for the log's end is taken beforehand for a tool that prints there what it could save nowhere:
a disk that something else has filled meanwhile does not cut that off.
"""

import contextlib
import errno
import os
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final

from activities.operations.log_file import hole_of, state_begins
from activities.operations.spec import OUTPUT_FILE
from wire.private_files import open_private

_KEEP_SIZE: Final = 0x1
_PUNCH_HOLE: Final = 0x2

_MOST_HEAD_BYTES: Final = 4 * 1024 * 1024
_LEAST_HEAD_BYTES: Final = 256 * 1024
_MOST_TAIL_BYTES: Final = 16 * 1024 * 1024
_LEAST_TAIL_BYTES: Final = 512 * 1024
"""What is kept, besides what comes in while it is looked at; less on a small disk."""

_MOST_ROOM_BYTES: Final = 8 * 1024 * 1024
_LEAST_ROOM_BYTES: Final = 64 * 1024
_ALIGNMENT: Final = 64 * 1024
"""Holes are made of whole blocks of the file system."""

_PAUSE_SECONDS: Final = 0.01
"""A tool that prints without pause writes some megabytes in that time."""

_QUIET_PAUSE_SECONDS: Final = 0.05
"""After a second in which it has printed nothing."""

_CHUNK_BYTES: Final = 1024 * 1024
_OVERLAP_BYTES: Final = 128
"""More than the beginning of a state that is looked for."""


class LogKeeper:
    """Keeps one log bounded."""

    def __init__(self, folder: Path, *, with_room: bool = False) -> None:
        """Opens the log of the run in the folder, and takes room for its end if that is asked for.

        Raises:
            OSError: it cannot be opened.
        """
        self._folder = folder
        self._file = open_private(folder / OUTPUT_FILE, os.O_RDWR)
        disk = os.fstatvfs(self._file)
        total = disk.f_blocks * disk.f_frsize
        self._head = _whole(max(_LEAST_HEAD_BYTES, min(_MOST_HEAD_BYTES, total // 64)))
        self._tail = max(_LEAST_TAIL_BYTES, min(_MOST_TAIL_BYTES, total // 16))
        self._room = max(_LEAST_ROOM_BYTES, min(_MOST_ROOM_BYTES, total // 32)) * with_room
        self._room_until = 0
        hole = hole_of(self._file)
        self._given_up = hole.end if hole else self._head
        self._ended = threading.Event()
        self._using = threading.Lock()
        """The descriptor's number may be another file's once it is closed."""
        self.is_bounding = sys.platform == "linux"
        self._keep_room()

    def start(self, report: Callable[[str], None]) -> None:
        """Keeps the log bounded from now on, in a thread, until `end`.

        Args:
            report: Told if that cannot be.
        """
        threading.Thread(target=self._run, args=(report,), name="log", daemon=True).start()

    def end(self, *, is_over: bool) -> None:
        """Leaves the log as it is.

        Args:
            is_over: No process writes to it any more; room that was not needed is given back.
        """
        with self._using:
            self._ended.set()
            if is_over and self._room:
                with contextlib.suppress(OSError):
                    # To the same size: what lies beyond it is given back.
                    os.ftruncate(self._file, os.fstat(self._file).st_size)
            os.close(self._file)

    def bound(self) -> bool:
        """Gives up what is too much by now; says whether there was anything.

        Raises:
            OSError: this file system has no holes.
        """
        with self._using:
            return not self._ended.is_set() and self._give_up()

    def _give_up(self) -> bool:
        self._keep_room()
        end = _whole(os.fstat(self._file).st_size - self._tail)
        if not self.is_bounding or end <= self._given_up:
            return False
        if self._room and self._holds_state(self._given_up, end):
            # It prints that at its end, and where its middle is missing all of it is worth nothing.
            self.is_bounding = False
            return False
        _allocate(self._file, _PUNCH_HOLE | _KEEP_SIZE, self._given_up, end - self._given_up)
        self._given_up = end
        return True

    def _run(self, report: Callable[[str], None]) -> None:
        # Not told by the system of each change: it has few such watches for a user, and those of
        # states must be had.
        seen, quiet = 0, 0.0
        try:
            while not self._ended.wait(_PAUSE_SECONDS if quiet < 1.0 else _QUIET_PAUSE_SECONDS):
                while self.bound():
                    pass
                size = (self._folder / OUTPUT_FILE).stat().st_size
                quiet = quiet + _PAUSE_SECONDS if size == seen else 0.0
                seen = size
        except OSError as error:
            report(f"{OUTPUT_FILE} is not kept from filling the disk: {error}")

    def _keep_room(self) -> None:
        if not self._room or sys.platform != "linux":
            return
        size = os.fstat(self._file).st_size
        if self._room_until - size > self._room // 2:
            return
        room = self._room
        while room >= _LEAST_ROOM_BYTES:
            with contextlib.suppress(OSError):
                _allocate(self._file, _KEEP_SIZE, size, room)
                self._room_until = size + room
                return
            room //= 2

    def _holds_state(self, start: int, end: int) -> bool:
        at = max(0, start - _OVERLAP_BYTES)
        while at < end:
            if state_begins(os.pread(self._file, _CHUNK_BYTES + _OVERLAP_BYTES, at)):
                return True
            at += _CHUNK_BYTES
        return False


def has_holes(folder: Path) -> bool:
    """Whether files in the folder can have holes made in them; blocks.

    Raises:
        OSError: nothing can be written there.
    """
    if sys.platform != "linux":
        return False
    probe = folder / f".holes-{os.getpid()}-{time.monotonic_ns()}"
    descriptor = open_private(probe, os.O_RDWR | os.O_EXCL)
    try:
        os.write(descriptor, b"x" * 2 * _ALIGNMENT)
        _allocate(descriptor, _PUNCH_HOLE | _KEEP_SIZE, 0, _ALIGNMENT)
        return hole_of(descriptor) is not None
    except OSError as error:
        if error.errno in {errno.EOPNOTSUPP, errno.ENOSYS}:
            return False
        raise
    finally:
        os.close(descriptor)
        probe.unlink()


def _allocate(descriptor: int, mode: int, offset: int, length: int) -> None:
    # Not at the top: many tools print little, and are done before this is needed.
    import ctypes  # noqa: PLC0415

    fallocate = ctypes.CDLL(None, use_errno=True).fallocate
    fallocate.argtypes = [ctypes.c_int, ctypes.c_int, ctypes.c_long, ctypes.c_long]
    if fallocate(descriptor, mode, offset, length) != 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))


def _whole(size: int) -> int:
    return size // _ALIGNMENT * _ALIGNMENT
