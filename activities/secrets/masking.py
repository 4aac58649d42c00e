"""Masks values that must not leave the customer's side, in any text or JSON.

Terraform masks what it knows to be sensitive. What it does not know (a secret that a template put
into a variable which the module does not mark) is found here by its value: as it is, in the forms
that tools print (`activities.secrets.forms`), in base64, line by line, and broken over lines where
it has spaces. A value that the module itself transformed (a hash, a changed case) cannot be found
this way.
"""

from collections.abc import Iterable, Mapping
from functools import cached_property, lru_cache

from activities.secrets.base64_masking import InBase64
from activities.secrets.forms import forms
from activities.secrets.leaves import leaves
from activities.secrets.search import Search

MASK = "(sensitive)"

SHORTEST_IN_TEXT = 4
"""Masking shorter secrets would hide half of every text; those are masked only as whole values."""


class _Finder:
    """What finds the secrets in texts: it takes time to be made."""

    def __init__(self, secrets: frozenset[str]) -> None:
        found = {form for text in secrets for form in forms(text)}
        self.search = Search(form for form in found if len(form) >= SHORTEST_IN_TEXT)
        self._encoded = InBase64(secrets, self.search)

    def spans(self, text: str) -> Iterable[tuple[int, int]]:
        yield from self.search.spans(text)
        yield from self._encoded.spans(text)


_finder = lru_cache(maxsize=1)(_Finder)
"""Of the newest mask: the pages of a log, and what is told of an operation, share it."""


class Mask:
    """Knows the secrets of one component; its repr hides them."""

    def __init__(self, secrets: frozenset[str]) -> None:
        """Args: the secrets, without what is no secret; see `of`."""
        self._whole = secrets

    @staticmethod
    def of(secrets: Iterable[object]) -> "Mask":
        """A mask for every string and number in the given values, at any depth."""
        return Mask(frozenset(text for secret in secrets for text in leaves(secret)))

    def and_also(self, secrets: Iterable[object]) -> "Mask":
        """A mask for these secrets too."""
        more = Mask.of(secrets).secrets - self._whole
        return Mask(self._whole | more) if more else self

    @property
    def secrets(self) -> frozenset[str]:
        """The secret values."""
        return self._whole

    def __repr__(self) -> str:
        return f"Mask({len(self._whole)} values)"

    @cached_property
    def _finds(self) -> _Finder:
        # Not as the mask is made: most are made only to be added to.
        return _finder(self._whole)

    def text(self, text: str) -> str:
        """The text with each secret replaced."""
        return self.within(text, 0, len(text))

    def within(self, text: str, start: int, end: int) -> str:
        """The text from `start` to `end` with each secret replaced, even if it only begins or ends
        there."""
        if not self._whole:
            return text[start:end]
        shown, at = [], start
        for begin, stop in _merged(self._finds.spans(text)):
            if stop <= at or begin >= end:
                continue
            shown += [text[at:begin], MASK]
            at = stop
        shown.append(text[at:end])
        return "".join(shown)

    @property
    def reach(self) -> int:
        """The most characters that what is hidden as one may have: in base64 of base64, broken over
        lines."""
        return 3 * self._finds.search.longest if self._whole else 0

    def unfinished(self, text: str) -> int:
        """Where the text ends with the first words of a secret, the position of these words;
        otherwise the text's length."""
        return self._finds.search.unfinished(text) if self._whole else len(text)

    def value(self, value: object) -> object:
        """A JSON value with each secret replaced, in keys too."""
        if isinstance(value, Mapping):
            return {self.text(str(key)): self.value(item) for key, item in value.items()}
        if isinstance(value, list | tuple):
            return [self.value(item) for item in value]
        if value is None or isinstance(value, bool):
            return value
        if str(value) in self._whole:
            return MASK
        return self.text(value) if isinstance(value, str) else value


def _merged(spans: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """The spans in their order, those that overlap or touch as one."""
    merged: list[tuple[int, int]] = []
    for begin, stop in sorted(spans):
        if merged and begin <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(stop, merged[-1][1]))
        else:
            merged.append((begin, stop))
    return merged
