"""Masks values that must not leave the customer's side, in any text or JSON.

Terraform masks what it knows to be sensitive. What it does not know (a secret that a template put
into a variable which the module does not mark) is found here by its value: as it is, as JSON and
HCL escape it, in base64, and line by line. A value that the module itself transformed (a hash, a
changed case) cannot be found this way.
"""

import base64
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

MASK = "(sensitive)"

_SHORTEST_IN_TEXT = 4
"""Shorter ones would mask half of every text; they are masked where they are a whole value."""


@dataclass(frozen=True)
class Mask:
    """Knows the secrets of one component; its repr hides them."""

    _whole: frozenset[str]
    _within: tuple[str, ...]

    @staticmethod
    def of(secrets: Iterable[object]) -> "Mask":
        """A mask for every string and number in the given values, at any depth."""
        whole = {text for secret in secrets for text in _leaves(secret) if text}
        forms = {form for text in whole for form in _forms(text) if len(form) >= _SHORTEST_IN_TEXT}
        # Longest first: a secret within another must not leave the rest of it.
        return Mask(frozenset(whole), tuple(sorted(forms, key=lambda form: (-len(form), form))))

    def __repr__(self) -> str:
        return f"Mask({len(self._whole)} values)"

    def text(self, text: str) -> str:
        """The text with each secret replaced."""
        for form in self._within:
            text = text.replace(form, MASK)
        return text

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


def _leaves(value: object) -> Iterable[str]:
    if isinstance(value, Mapping):
        for item in value.values():
            yield from _leaves(item)
    elif isinstance(value, list | tuple):
        for item in value:
            yield from _leaves(item)
    elif value is not None and not isinstance(value, bool):
        yield str(value)


def _forms(text: str) -> Iterable[str]:
    """The ways in which tools print a value."""
    yield text
    yield json.dumps(text)[1:-1]
    yield json.dumps(text, ensure_ascii=False)[1:-1]
    yield base64.b64encode(text.encode()).decode()
    if "\n" in text:
        yield from (line.strip() for line in text.splitlines())
