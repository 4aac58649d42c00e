"""Finds the parts of a tool's log that are not shown: the hole of a bounded log, printed states.

When Terraform cannot write its state anywhere else, it prints it into its output in clear, and no
mask knows which values in it are secret.
"""

import errno
import mmap
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from store.left_files import NoFileLeft, open_left

_BEGINS: Final = b'{\n  "version": '
_STATE: Final = re.compile(rb'\{\n  "version": \d+,\n  "terraform_version": "')
_ENDS: Final = b"\n}"
"""Unique to the end: inside the object all lines are indented, and JSON strings have no line
breaks."""


@dataclass(frozen=True)
class Span:
    """A range of bytes of a log; `end` is exclusive."""

    start: int
    end: int


@dataclass(frozen=True)
class PrintedState(Span):
    """The range in which a state was printed."""

    whole: bool
    """Whether its end was found; without one, everything that follows counts as the state."""


def hole_in(file: Path) -> Span | None:
    """The part of a log that was dropped so that it does not fill the disk; blocks."""
    try:
        descriptor = open_left(file)
    except (FileNotFoundError, NoFileLeft):
        return None
    try:
        return hole_of(descriptor)
    finally:
        os.close(descriptor)


def hole_of(descriptor: int) -> Span | None:
    """As `hole_in`, for an open file; moves its position."""
    size = os.fstat(descriptor).st_size
    if size == 0:
        return None
    try:
        start = os.lseek(descriptor, 0, os.SEEK_HOLE)
        return Span(start, os.lseek(descriptor, start, os.SEEK_DATA)) if start < size else None
    except OSError as error:
        if error.errno == errno.ENXIO:
            # Nothing follows the hole.
            return Span(start, size)
        return None


def printed_states(file: Path) -> list[PrintedState]:
    """The ranges in which Terraform printed a state, in order; blocks."""
    try:
        descriptor = open_left(file)
    except (FileNotFoundError, NoFileLeft):
        return []
    try:
        size = os.fstat(descriptor).st_size
        if size == 0:
            return []
        with mmap.mmap(descriptor, size, access=mmap.ACCESS_READ) as content:
            return list(_states(content, hole_of(descriptor)))
    finally:
        os.close(descriptor)


def last_printed_state(file: Path) -> bytes | None:
    """The newest state in the log; None if there is none, or if it is incomplete. Blocks."""
    found = printed_states(file)
    if not found or not found[-1].whole:
        return None
    with os.fdopen(open_left(file), "rb") as log:
        log.seek(found[-1].start)
        return log.read(found[-1].end - found[-1].start)


def state_begins(content: bytes) -> bool:
    """Whether the bytes contain the beginning of a state."""
    return _STATE.search(content) is not None


def _states(content: mmap.mmap, hole: Span | None) -> Iterator[PrintedState]:
    size = len(content)
    at = 0
    while (at := _find(content, _BEGINS, at, hole)) >= 0:
        is_line = at == 0 or content[at - 1 : at] == b"\n"
        if not is_line or not _STATE.match(content, at):
            at += 1
            continue
        end = _find(content, _ENDS, at, hole)
        stop = size if end < 0 else end + len(_ENDS)
        yield PrintedState(at, stop, whole=end >= 0)
        at = stop


def _find(content: mmap.mmap, wanted: bytes, start: int, hole: Span | None) -> int:
    """As `find`, but skips the hole, which may be terabytes long."""
    if hole is None or start >= hole.end:
        return content.find(wanted, start)
    found = content.find(wanted, start, hole.start) if start < hole.start else -1
    return found if found >= 0 else content.find(wanted, hole.end)
