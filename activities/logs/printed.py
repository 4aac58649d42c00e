"""What an operation's tools printed, as one text that only grows at its end.

What was left out of it, and states that Terraform printed, keep their positions and are not shown.
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
"""How much of the output around a page is looked at for secrets that cross its borders; more where
a secret is longer."""

_MOST_BYTES_OF_CHARACTER = 4


@dataclass(frozen=True)
class Piece:
    """A heading of ours, and the file that follows it."""

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
    """Whether it is known where it ends."""


@dataclass(frozen=True)
class _Hidden:
    """What cannot be shown: nothing is looked at in it, also not for what is around it."""

    start: int
    end: int
    is_state: bool
    is_over: bool


class Printed:
    """Pieces one after the other; what a file gains after this was made is not seen."""

    def __init__(self, pieces: Sequence[Piece]) -> None:
        self._pieces = pieces
        self._spans: list[tuple[int, int, bytes | Path]] = []
        self.size = 0
        for piece in pieces:
            # A tool may end in the middle of a line; it prints nothing once there is another.
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
        """Where the last line that is finished ends; the next may be half of a secret.

        Of a line that is longer than the limit, only the newest is held back.
        """
        start = max(0, self.size - longest_line)
        cut = self._read(start, self.size).rfind(b"\n")
        if cut >= 0:
            return start + cut + 1
        return max(0, self.size - _AROUND_BYTES) if start else 0

    def settled(self, end: int, mask: Mask) -> int:
        """How much before `end` is no secret's beginning, whatever is printed next."""
        around = _around(mask)
        end = min(end, max(0, self.size - around)) if not self._ends_line(end) else end
        start = self._character_start(max(0, end - around))
        text = self._read(start, end).decode(errors="replace")
        return end - len(text[mask.unfinished(text) :].encode())

    def gap_at(self, position: int, mask: Mask) -> Gap | None:
        """What is not shown from that position on."""
        for one in self._gaps(mask):
            if one.start <= position < one.end:
                return Gap(position, one.end, self._words(position, one), one.is_over)
        return None

    def gap_after(self, position: int, mask: Mask) -> int:
        """Where the next such part begins; the end of the text if there is none."""
        starts = (one.start for one in self._gaps(mask))
        return min((start for start in starts if start > position), default=self.size)

    def _gaps(self, mask: Mask) -> Iterator[_Hidden]:
        """Beside a hole may lie one half of a secret, which no mask finds: so far, nothing is shown
        either."""
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
            what = "left out: of long output the beginning and the end are kept"
        return f"{new_line}-- {hidden.end - position} bytes: {what}\n"

    def page_end(self, position: int, end: int, limit: int) -> int:
        """Where a page ends that begins there: at the end of a line, if it holds one."""
        if position + limit >= end:
            return end
        cut = self._read(position, position + limit).rfind(b"\n")
        return position + cut + 1 if cut >= 0 else self._character_start(position + limit)

    def masked(self, start: int, end: int, mask: Mask) -> str:
        """The text between the two without secrets, also those that cross its borders."""
        around = _around(mask)
        # Half a character would make another text of a secret.
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
        """Where the UTF-8 character begins whose middle is there, if one's is."""
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
    """The descriptor of what a tool printed; None where it is gone, or no file any more."""
    try:
        descriptor = open_left(file)
    except (FileNotFoundError, NoFileLeft):
        yield None
        return
    try:
        yield descriptor
    finally:
        os.close(descriptor)
