"""Keeps a tool's log from filling the disk: its beginning and end are kept, the middle is dropped.

The tool has the file open and writes to it directly, so the dropped part becomes a hole in the file
and all offsets stay valid. Where the file system or the operating system cannot make holes, logs
are not bounded; `exclave worker doctor` reports this.

Some tools print what they could not save anywhere (Terraform its state). For these, disk space for
the end of the log is allocated beforehand, so that it is not lost if something else fills the disk.
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
"""How much of the log is kept, plus what the tool writes between two checks; less on a small
disk."""

_MOST_ROOM_BYTES: Final = 8 * 1024 * 1024
_LEAST_ROOM_BYTES: Final = 64 * 1024
_ALIGNMENT: Final = 64 * 1024
"""Holes consist of whole blocks of the file system."""

_PAUSE_SECONDS: Final = 0.01
"""A tool that prints without pause writes a few megabytes in this time."""

_QUIET_PAUSE_SECONDS: Final = 0.05
"""Used once the tool has printed nothing for a second."""

_CHUNK_BYTES: Final = 1024 * 1024
_OVERLAP_BYTES: Final = 128
"""Longer than the beginning of a state that the search looks for."""


class LogKeeper:
    """Keeps one log bounded."""

    def __init__(self, folder: Path, *, with_room: bool = False) -> None:
        """Opens the log of the run in the folder; `with_room` allocates disk space for its end.

        Raises:
            OSError: the log cannot be opened.
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
        self._dropped_until = hole.end if hole else self._head
        self._ended = threading.Event()
        self._using = threading.Lock()
        """Held while the descriptor is used: once closed, its number may belong to another file."""
        self.is_bounding = sys.platform == "linux"
        self._keep_room()

    def start(self, report: Callable[[str], None]) -> None:
        """Keeps the log bounded from now on, in a thread, until `end`.

        Args:
            report: Called with the reason if the log cannot be bounded.
        """
        threading.Thread(target=self._run, args=(report,), name="log", daemon=True).start()

    def end(self, *, is_over: bool) -> None:
        """Stops bounding the log.

        Args:
            is_over: No process writes to the log any more, so unused space is freed.
        """
        with self._using:
            self._ended.set()
            if is_over and self._room:
                with contextlib.suppress(OSError):
                    # Truncating to the current size frees what was allocated beyond it.
                    os.ftruncate(self._file, os.fstat(self._file).st_size)
            os.close(self._file)

    def bound(self) -> bool:
        """Drops what exceeds the bound; returns whether there was anything to drop.

        Raises:
            OSError: this file system has no holes.
        """
        with self._using:
            return not self._ended.is_set() and self._drop_middle()

    def _drop_middle(self) -> bool:
        self._keep_room()
        end = _whole(os.fstat(self._file).st_size - self._tail)
        if not self.is_bounding or end <= self._dropped_until:
            return False
        if self._room and self._holds_state(self._dropped_until, end):
            # The tool prints its state last, and a state without its middle is worthless.
            self.is_bounding = False
            return False
        length = end - self._dropped_until
        _allocate(self._file, _PUNCH_HOLE | _KEEP_SIZE, self._dropped_until, length)
        self._dropped_until = end
        return True

    def _run(self, report: Callable[[str], None]) -> None:
        # Polls, since a user has only a few inotify watches, and snapshots of states need them.
        seen, quiet = 0, 0.0
        try:
            while not self._ended.wait(_PAUSE_SECONDS if quiet < 1.0 else _QUIET_PAUSE_SECONDS):
                while self.bound():
                    pass
                size = (self._folder / OUTPUT_FILE).stat().st_size
                quiet = quiet + _PAUSE_SECONDS if size == seen else 0.0
                seen = size
        except OSError as error:
            report(f"the size of {OUTPUT_FILE} is not bounded, so it may fill the disk: {error}")

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
    """Whether holes can be made in files of the folder; blocks.

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
    # Imported here because many tools print little and end before it is needed.
    import ctypes  # noqa: PLC0415

    fallocate = ctypes.CDLL(None, use_errno=True).fallocate
    fallocate.argtypes = [ctypes.c_int, ctypes.c_int, ctypes.c_long, ctypes.c_long]
    if fallocate(descriptor, mode, offset, length) != 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))


def _whole(size: int) -> int:
    return size // _ALIGNMENT * _ALIGNMENT
