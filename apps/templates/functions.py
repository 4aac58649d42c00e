"""The functions that templates may call, as sprig defines them."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Function:
    """A function and how many arguments it takes."""

    call: Callable[..., object]
    least: int
    most: int | None
    """None: any number."""


def _default(fallback: object, *given: object) -> object:
    """`fallback` if what was given is empty, as sprig's `default`."""
    return fallback if not given or _is_empty(given[0]) else given[0]


def _is_empty(value: object) -> bool:
    # Go's zero values. Written out, since Python's truth differs for other types.
    if value is None or value is False:
        return True
    if isinstance(value, int | float):
        return value == 0
    return isinstance(value, str | Mapping | list | tuple) and len(value) == 0


FUNCTIONS: dict[str, Function] = {"default": Function(_default, 1, None)}
"""By name. Results are marked sensitive by the renderer: a function sees plain values."""

REFUSED: Mapping[str, str] = {}
