"""Finds secrets in base64 where other text stands before or after them, and over broken lines.

`Authorization: Basic` holds a user's name before the password, and `base64` breaks lines at 76
characters. What stands before a secret shifts its bits, so there are three ways in which it can
look.
"""

import base64
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

SHORTEST = 6
"""Characters; what is shorter would hide half of every text."""

_SHORTEST_LINE = 20
"""Of a line that is looked for within a secret."""

_LINE = re.compile(rf"[A-Za-z0-9+/_-]{{{_SHORTEST_LINE},}}")
_CHARACTER = re.compile(r"[A-Za-z0-9+/=_-]")
_BETWEEN = " \t\r\n│╷╵"
"""Where lines are broken, Terraform also draws a border."""

_STANDARD = str.maketrans("-_", "+/")
_FLAT = str.maketrans("-_", "+/", _BETWEEN)

_NEIGHBOURS = 4
"""Characters on both sides that hold some bits of a secret, or its padding."""


@dataclass(frozen=True)
class InBase64:
    """Knows secrets as base64 has them; its repr hides them."""

    _looks: tuple[str, ...]
    _joined: str

    @staticmethod
    def of(secrets: Iterable[str]) -> "InBase64":
        """Those secrets that are long enough to be told from other text."""
        looks = {look for text in secrets for look in _looks_of(text.encode())}
        found = tuple(sorted(look for look in looks if len(look) >= SHORTEST))
        return InBase64(found, "\n".join(found))

    def __repr__(self) -> str:
        return f"InBase64({len(self._looks)} looks)"

    def spans(self, text: str) -> Iterator[tuple[int, int]]:
        """Where in the text they are, in no order; they may overlap."""
        if not self._looks:
            return
        yield from self._in_flat(text)
        # Others of a secret's lines may not be printed yet, or have something before them.
        for line in _LINE.finditer(text):
            # The last one's end holds what follows the secret, too.
            if line.group().translate(_STANDARD)[:-2] in self._joined:
                yield line.span()

    def _in_flat(self, text: str) -> Iterator[tuple[int, int]]:
        flat = text.translate(_FLAT)
        found = [span for look in self._looks for span in _found(look, flat)]
        if found:
            places = [at for at, character in enumerate(text) if character not in _BETWEEN]
            for begin, end in found:
                yield _with_neighbours(text, places[begin], places[end - 1] + 1)

    @property
    def longest(self) -> int:
        """The most characters that one of them has, broken over lines."""
        return 2 * max((len(look) for look in self._looks), default=0)


def _found(look: str, flat: str) -> Iterator[tuple[int, int]]:
    at = flat.find(look)
    while at >= 0:
        yield at, at + len(look)
        at = flat.find(look, at + 1)


def _with_neighbours(text: str, begin: int, end: int) -> tuple[int, int]:
    first, last = max(0, begin - _NEIGHBOURS), min(len(text), end + _NEIGHBOURS)
    while begin > first and _CHARACTER.match(text[begin - 1]):
        begin -= 1
    while end < last and _CHARACTER.match(text[end]):
        end += 1
    return begin, end


def _looks_of(data: bytes) -> Iterator[str]:
    """The characters that hold nothing but the secret's bits, however far it is shifted."""
    for before in range(3):
        encoded = base64.b64encode(b"\0" * before + data).decode()
        yield encoded[-(-before * 8 // 6) : (before + len(data)) * 8 // 6]
