"""Marks values that must not be shown."""

from dataclasses import dataclass, field


@dataclass(frozen=True)
class Sensitive:
    """A value that must not leave the customer's side; its repr and str hide it."""

    value: object = field(repr=False)

    def __str__(self) -> str:
        return "(sensitive)"
