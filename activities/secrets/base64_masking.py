"""Finds secrets in base64, by decoding it: where other text stands before or after them, over
broken lines, in base64 of base64, and in that of UTF-16.

`Authorization: Basic` holds a user's name before the password, the configuration of Docker that of
a registry twice, PowerShell encodes UTF-16, and `base64` breaks lines at 76 characters.
"""

import binascii
import re
from collections.abc import Iterable, Iterator
from typing import Final

from activities.secrets.search import Search, without_halves

_BETWEEN: Final = " \t\r\n│╷╵"
"""Characters that may interrupt an encoded secret: line breaks, blanks, and Terraform's border."""

_STANDARD: Final = str.maketrans("-_", "+/")
_FLAT: Final = str.maketrans("-_", "+/", _BETWEEN)
_OTHER: Final = re.compile("[^A-Za-z0-9+/]")
_CHARACTER: Final = re.compile(r"[A-Za-z0-9+/=_-]")

_AGAIN: Final = re.compile(r"[A-Za-z0-9+/_=\r\n-]{8,}")
"""What was decoded may be base64 itself."""

_DEEPEST = 3

_UTF16: Final = re.compile(r"(?:[^\0]\0){3,}[^\0]?")

_NEIGHBOURS = 4
"""Characters on both sides that may hold some bits of a secret, or its padding."""

_LINE: Final = re.compile(r"[A-Za-z0-9+/_-]{20,}")
"""Of base64; long enough to be looked for within a secret."""

_PIECE = 6
"""Bytes. Each line holds 11 of a secret, and so one of the pieces that it consists of."""


class InBase64:
    """Knows the base64 forms of secrets; its repr hides them."""

    def __init__(self, secrets: Iterable[str], search: Search) -> None:
        """Args: the secrets, and what finds them and their other forms."""
        self._search = search
        whole = [without_halves(text).encode() for text in secrets]
        self._joined = b"\0".join(one for one in sorted(whole) if len(one) >= 2 * _PIECE - 1)
        self._pieces = {
            self._joined[at : at + _PIECE]: at for at in range(0, len(self._joined), _PIECE)
        }

    def __repr__(self) -> str:
        return f"InBase64({len(self._pieces)} pieces)"

    def spans(self, text: str) -> Iterator[tuple[int, int]]:
        """Where the text has encoded secrets, in no order; spans may overlap."""
        yield from self._encoded(text, 1)
        if self._pieces:
            # Others of a secret's lines may not be printed yet, or have something before them.
            yield from (line.span() for line in _LINE.finditer(text) if self._is_line(line.group()))

    def _encoded(self, text: str, depth: int) -> Iterator[tuple[int, int]]:
        flat = _OTHER.sub("A", text.translate(_FLAT))
        found = [span for shift in range(4) for span in self._decoded(flat, shift, depth)]
        if found:
            places = [at for at, character in enumerate(text) if character not in _BETWEEN]
            for begin, end in found:
                yield _with_neighbours(text, places[begin], places[end - 1] + 1)

    def _decoded(self, flat: str, shift: int, depth: int) -> Iterator[tuple[int, int]]:
        """Secrets in what the text is the base64 of, if a group of four begins at the shift."""
        text = _decode(flat[shift:]).decode("latin-1")
        for begin, end in self._in_bytes(text, depth):
            # The last of the characters hold bits of what follows, too.
            yield shift + begin * 8 // 6, min(len(flat), shift - (-end * 8 // 6))

    def _in_bytes(self, text: str, depth: int) -> Iterator[tuple[int, int]]:
        yield from self._search.spans(text)
        for wide in _UTF16.finditer(text):
            for begin, end in self._search.spans(wide.group()[::2]):
                yield wide.start() + 2 * begin, wide.start() + 2 * end
        if depth < _DEEPEST:
            for again in _AGAIN.finditer(text):
                for begin, end in self._encoded(again.group(), depth + 1):
                    yield again.start() + begin, again.start() + end

    def _is_line(self, line: str) -> bool:
        # The last one's end holds what follows the secret, too.
        line = line.translate(_STANDARD)[:-2]
        return any(self._is_part(_decode(line[shift:])) for shift in range(4))

    def _is_part(self, data: bytes) -> bool:
        for before in range(_PIECE):
            at = self._pieces.get(data[before : before + _PIECE])
            if at is not None:
                start = at - before
                is_there = start >= 0 and self._joined.startswith(data, start)
                return is_there or data in self._joined
        return False


def _decode(text: str) -> bytes:
    padded = text + "A" * (-len(text) % 4)
    return binascii.a2b_base64(padded)[: len(text) * 6 // 8]


def _with_neighbours(text: str, begin: int, end: int) -> tuple[int, int]:
    first, last = max(0, begin - _NEIGHBOURS), min(len(text), end + _NEIGHBOURS)
    while begin > first and _CHARACTER.match(text[begin - 1]):
        begin -= 1
    while end < last and _CHARACTER.match(text[end]):
        end += 1
    return begin, end
