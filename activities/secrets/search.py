"""Finds many texts within another in one pass, also where lines are broken between their words."""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from ahocorasick_rs import AhoCorasick

_SPACE: Final = re.compile(r"[\s│╷╵]+")
"""Terraform breaks the lines of its diagnostics at spaces, and draws a border beside them."""

_NOT_ONE_SPACE: Final = re.compile(r"[^\S ]|[│╷╵]|  ")

_LEAST_LETTERS = 4

_PREFIX = 8
"""Characters by which a text is looked for: the automaton has a state for each, and the rest of a
text is compared only where they are found."""

_SURROGATE: Final = re.compile("[\ud800-\udfff]")
"""Halves of characters, which have no UTF-8."""


class Search:
    """An automaton over all of the texts; its repr hides them."""

    def __init__(self, texts: Iterable[str]) -> None:
        pairs = [(text, _one_spaced(without_halves(text)).strip()) for text in texts]
        self._rest: dict[str, dict[int, set[str]]] = {}
        """By prefix and length."""
        for _, form in pairs:
            if _letters(form) >= _LEAST_LETTERS:
                self._rest.setdefault(form[:_PREFIX], {}).setdefault(len(form), set()).add(form)
        self._prefixes = sorted(self._rest)
        self._as_they_are = sorted(
            {text for text, form in pairs if _letters(form) < _LEAST_LETTERS}
        )
        """Little but space, which cannot be told from other text unless it is exactly that."""
        self._phrases: list[str] | None = None
        self._automaton = _automaton(self._prefixes)
        self.longest = max((len(text) for text, _ in pairs), default=0)

    def __repr__(self) -> str:
        return f"Search({len(self._prefixes)} prefixes)"

    def spans(self, text: str) -> Iterator[tuple[int, int]]:
        """Where in the text they are, in no order; they may overlap."""
        for one in self._as_they_are:
            yield from ((found.start(), found.end()) for found in re.finditer(re.escape(one), text))
        if self._automaton is None:
            return
        spaced = _Spaced(without_halves(text))
        for number, begin, _ in self._automaton.find_matches_as_indexes(
            spaced.text, overlapping=True
        ):
            for length, forms in self._rest[self._prefixes[number]].items():
                if spaced.text[begin : begin + length] in forms:
                    yield spaced.before(begin), spaced.before(begin + length - 1) + 1

    def unfinished(self, text: str) -> int:
        """Where words at the end of the text begin that more words would make one of the texts; its
        length if none do."""
        phrases = self._sorted_phrases()
        spaced = _Spaced(without_halves(text))
        words = spaced.text.rstrip() + " "
        longest = max(map(len, phrases), default=0)
        for begin in range(max(0, len(words) - longest), len(words) - 1):
            end = words[begin:]
            at = bisect_left(phrases, end)
            if at < len(phrases) and phrases[at].startswith(end) and end[0] != " ":
                return spaced.before(begin)
        return len(text)

    def _sorted_phrases(self) -> list[str]:
        if self._phrases is None:
            sets = (forms for lengths in self._rest.values() for forms in lengths.values())
            self._phrases = sorted(form for forms in sets for form in forms if " " in form)
        return self._phrases


class _Spaced:
    """A text in which everything that parts two words is one space."""

    def __init__(self, text: str) -> None:
        self._spaced, self._original = [0], [0]
        if _NOT_ONE_SPACE.search(text) is None:
            self.text = text
            return
        self.text = _one_spaced(text)
        gone = 0
        for found in _SPACE.finditer(text):
            length = found.end() - found.start()
            if length > 1:
                gone += length - 1
                self._spaced.append(found.end() - gone)
                self._original.append(found.end())

    def before(self, at: int) -> int:
        """Where it was in the original."""
        run = bisect_right(self._spaced, at) - 1
        return self._original[run] + at - self._spaced[run]


def without_halves(text: str) -> str:
    """The text with a sign for each half of a character, at the same places."""
    return text if text.isascii() else _SURROGATE.sub("\ufffd", text)


def _one_spaced(text: str) -> str:
    return _SPACE.sub(" ", text)


def _letters(spaced: str) -> int:
    return len(spaced) - spaced.count(" ")


def _automaton(prefixes: list[str]) -> "AhoCorasick | None":
    if not prefixes:
        return None
    # Not at the top: a worker stands idle for weeks without a mask.
    from ahocorasick_rs import AhoCorasick  # noqa: PLC0415

    return AhoCorasick(prefixes)
