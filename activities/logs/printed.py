"""The output of an operation's tools, as one text that only grows at its end.

Parts that were dropped from a log, and states that Terraform printed, keep their positions in the
text but are not shown.
"""

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from activities.operations.log_file import hole_in, printed_states
from activities.secrets.masking import Mask
from store.left_files import NoFileLeft, open_left

_AROUND_BYTES = 16 * 1024
"""How much text around a page is searched for secrets that cross its borders; more if a secret is
longer."""

_MOST_BYTES_OF_CHARACTER = 4


@dataclass(frozen=True)
class Piece:
    """A heading, and the file whose content follows it."""

    heading: str
    file: Path | None = None


@dataclass(frozen=True)
class Gap:
    """A part of the text that is not shown."""

    start: int
    end: int
    words: str
    """What is shown instead."""
    is_over: bool
    """Whether its end is known."""


@dataclass(frozen=True)
class _Hidden:
    """A part that is not shown, and that is not read either when its surroundings are masked."""

    start: int
    end: int
    is_state: bool
    is_over: bool


class Printed:
    """The pieces one after the other, as they were when this was constructed."""

    def __init__(self, pieces: Sequence[Piece]) -> None:
        self._pieces = pieces
        self._spans: list[tuple[int, int, bytes | Path]] = []
        self.size = 0
        for piece in pieces:
            # A tool may end in the middle of a line; it prints nothing once the next tool runs.
            new_line = "\n" if self.size and self._read(self.size - 1, self.size) != b"\n" else ""
            heading = f"{new_line}{piece.heading}\n".encode()
            self._add(heading, len(heading))
            if piece.file is not None and (size := _size(piece.file)):
                self._add(piece.file, size)

    def again(self) -> "Printed":
        """The same pieces as they are now."""
        return Printed(self._pieces)

    def _add(self, content: bytes | Path, size: int) -> None:
        self._spans.append((self.size, self.size + size, content))
        self.size += size

    def whole_lines(self, longest_line: int) -> int:
        """The end of the last complete line, since an incomplete one may be half of a secret.

        If a line is longer than the limit, only its newest part is held back.
        """
        start = max(0, self.size - longest_line)
        cut = self._read(start, self.size).rfind(b"\n")
        if cut >= 0:
            return start + cut + 1
        return max(0, self.size - _AROUND_BYTES) if start else 0

    def settled(self, end: int, mask: Mask) -> int:
        """The position before `end` up to which the text cannot be the beginning of a secret,
        whatever is printed next."""
        around = _around(mask)
        end = min(end, max(0, self.size - around)) if not self._ends_line(end) else end
        start = self._character_start(max(0, end - around))
        text = self._read(start, end).decode(errors="replace")
        return end - len(text[mask.unfinished(text) :].encode())

    def gap_at(self, position: int, mask: Mask) -> Gap | None:
        """The part that is not shown and that the position is in, from there on."""
        for one in self._gaps(mask):
            if one.start <= position < one.end:
                return Gap(position, one.end, self._words(position, one), one.is_over)
        return None

    def gap_after(self, position: int, mask: Mask) -> int:
        """Where the next part that is not shown begins; the end of the text if there is none."""
        starts = (one.start for one in self._gaps(mask))
        return min((start for start in starts if start > position), default=self.size)

    def _gaps(self, mask: Mask) -> Iterator[_Hidden]:
        """The hidden parts. Around a hole more is hidden, since there may be half of a secret,
        which no mask would find."""
        around = _around(mask)
        for one in self._hidden:
            if one.is_state:
                yield one
            else:
                start = self._character_start(max(0, one.start - around))
                yield _Hidden(start, min(self.size, one.end + around), False, True)

    @cached_property
    def _hidden(self) -> list[_Hidden]:
        found = []
        for begin, stop, content in self._spans:
            if isinstance(content, bytes):
                continue
            hole = hole_in(content)
            if hole is not None:
                found.append(_Hidden(begin + hole.start, min(stop, begin + hole.end), False, True))
            for state in printed_states(content):
                end = min(stop, begin + state.end)
                is_last = stop == self.size
                found.append(_Hidden(begin + state.start, end, True, state.whole or not is_last))
        return sorted((one for one in found if one.start < one.end), key=lambda one: one.start)

    def _words(self, position: int, hidden: _Hidden) -> str:
        new_line = "" if position == 0 or self._ends_line(position) else "\n"
        if hidden.is_state:
            what = "a Terraform state, which is not shown"
        else:
            what = "left out: only the beginning and the end of long output are kept"
        return f"{new_line}-- {hidden.end - position} bytes: {what}\n"

    def page_end(self, position: int, end: int, limit: int) -> int:
        """Where a page that begins at `position` ends: after a line break, if it has one."""
        if position + limit >= end:
            return end
        cut = self._read(position, position + limit).rfind(b"\n")
        return position + cut + 1 if cut >= 0 else self._character_start(position + limit)

    def masked(self, start: int, end: int, mask: Mask) -> str:
        """The text from `start` to `end`, with secrets masked even if they cross its borders."""
        around = _around(mask)
        # A secret with half a character cut off would not be recognised.
        start, end = self._character_start(start), self._character_start(end)
        low = max([0, start - around, *(one.end for one in self._hidden if one.end <= start)])
        begins = [one.start for one in self._hidden if one.start >= end]
        before = self._read(low, start).decode(errors="replace")
        page = self._read(start, end).decode(errors="replace")
        after = self._read(end, min([self.size, end + around, *begins])).decode(errors="replace")
        return mask.within(before + page + after, len(before), len(before) + len(page))

    def _ends_line(self, end: int) -> bool:
        return self._read(end - 1, end) == b"\n"

    def _character_start(self, at: int) -> int:
        """The beginning of the UTF-8 character that `at` is in the middle of, otherwise `at`."""
        start = max(0, at - _MOST_BYTES_OF_CHARACTER + 1)
        nearby = self._read(start, at + 1)
        while at > start and at - start < len(nearby) and nearby[at - start] & 0xC0 == 0x80:
            at -= 1
        return at

    def _read(self, start: int, end: int) -> bytes:
        found = []
        for begin, stop, content in self._spans:
            low, high = max(start, begin), min(end, stop)
            if low < high:
                found.append(_part(content, low - begin, high - begin))
        return b"".join(found)


def _around(mask: Mask) -> int:
    return max(_AROUND_BYTES, mask.reach * _MOST_BYTES_OF_CHARACTER)


def _part(content: bytes | Path, start: int, end: int) -> bytes:
    if isinstance(content, bytes):
        return content[start:end]
    with _opened(content) as descriptor:
        return b"" if descriptor is None else os.pread(descriptor, end - start, start)


def _size(file: Path) -> int:
    with _opened(file) as descriptor:
        return 0 if descriptor is None else os.fstat(descriptor).st_size


@contextmanager
def _opened(file: Path) -> Iterator[int | None]:
    """The descriptor of a tool's output; None if it is gone, or not a regular file any more."""
    try:
        descriptor = open_left(file)
    except (FileNotFoundError, NoFileLeft):
        yield None
        return
    try:
        yield descriptor
    finally:
        os.close(descriptor)
