"""Describes what is wrong with the values in a settings file, in a line for each problem."""

from collections.abc import Callable
from typing import Any

from pydantic import ValidationError

from contracts.names import NAME_PATTERN

Place = tuple[int | str, ...]
"""The keys and indexes that lead to a value."""


def problems(
    error: ValidationError, where: object, about_keys: Callable[[Place], str] = lambda _: ""
) -> str:
    """All problems.

    Args:
        error: What pydantic found.
        where: The file, or what else the values come from.
        about_keys: What to add about the place of a key that does not exist.
    """
    return "\n".join(_problem(found, str(where), about_keys) for found in error.errors())


def _problem(found: Any, where: str, about_keys: Callable[[Place], str]) -> str:
    place = ".".join(str(part) for part in found["loc"])
    where = f"{where}: {place}" if place else where
    match found["type"]:
        case "extra_forbidden":
            return f"{where}: there is no such key{about_keys(found['loc'])}"
        case "missing":
            return f"{where}: is missing"
        case "string_pattern_mismatch" if found["ctx"]["pattern"] == NAME_PATTERN:
            return (
                f"{where}: {found['input']!r} is not a name; use lower case letters, digits and "
                "dashes, at most 63"
            )
        case "value_error":
            return f"{where}: {found['ctx']['error']}"
        case _:
            return f"{where}: {found['msg']}, not {found['input']!r}"
