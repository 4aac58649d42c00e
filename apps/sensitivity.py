"""Marks values that must not be shown, and finds them inside other values."""

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Sensitive:
    """A value that must not leave the customer's side; its repr and str hide it."""

    value: object = field(repr=False)

    def __str__(self) -> str:
        return "(sensitive)"


def reveal(value: object) -> tuple[object, bool]:
    """The value without its marks, at any depth, and whether there was a mark."""
    if isinstance(value, Sensitive):
        return reveal(value.value)[0], True
    if isinstance(value, Mapping):
        pairs = {key: reveal(item) for key, item in value.items()}
        return {k: v for k, (v, _) in pairs.items()}, any(s for _, s in pairs.values())
    if isinstance(value, list | tuple):
        items = [reveal(item) for item in value]
        return [v for v, _ in items], any(s for _, s in items)
    return value, False
