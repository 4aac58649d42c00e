"""Texts that are YAML or JSON themselves."""

from collections.abc import Mapping
from functools import lru_cache
from typing import Final


def documents(text: str) -> list[object]:
    """The objects and lists that the text is the YAML of, JSON among it; none if it is something
    else. They are shared: nobody may change them."""
    return _parsed(text) if len(text) < _LARGE else _remembered(text)


def _parsed(text: str) -> list[object]:
    # Not at the top: a worker stands idle for weeks, and most plans have no such text.
    import yaml  # noqa: PLC0415

    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    try:
        found = list(yaml.load_all(text, loader))
    except (yaml.YAMLError, ValueError, RecursionError):
        return []
    # Text itself would be looked at without end.
    return [one for one in found if isinstance(one, Mapping | list)]


_LARGE: Final = 64 * 1024
"""Characters."""

_remembered = lru_cache(maxsize=2)(_parsed)
"""A plan holds the same text in several places, and so does the state after it; both are read again
for each page of a log."""
