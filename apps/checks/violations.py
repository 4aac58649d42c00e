"""What a rule finds wrong with a model."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from apps.config.base import Model
from apps.keys import below, joined
from apps.reading.problems import Severity


@dataclass(frozen=True)
class Violation:
    """One thing that is wrong with a model."""

    key: str
    """The key within the model's table; empty for the whole table."""
    message: str
    severity: Severity = "error"
    within: int | None = None
    """The line within the key's string."""

    def beneath(self, at: str) -> "Violation":
        """The same violation, with its key as seen from a table further up."""
        return Violation(joined(at, self.key), self.message, self.severity, self.within)


Rules = Mapping[type[Model], Callable[[Any], Iterator[Violation]]]
"""The rule for each model; it holds for the model's subclasses as well."""


def refused_keys(
    at: str, keys: Iterable[str], problem_of: Callable[[str], str | None]
) -> Iterator[Violation]:
    """A violation for each key of the table `at` that the check has a problem with."""
    for key in keys:
        problem = problem_of(key)
        if problem:
            yield Violation(below(at, key), problem)


def exactly_one(given: dict[str, bool], *, or_none: bool = False) -> str | None:
    """Why the keys do not fit; None if exactly one of them is set."""
    there = [key for key, is_there in given.items() if is_there]
    if len(there) == 1 or (or_none and not there):
        return None
    names = _listed([f"`{key}`" for key in given])
    if not there:
        return f"needs exactly one of {names}; none is set"
    return f"needs exactly one of {names}; {_listed([f'`{key}`' for key in there])} are set"


def _listed(words: list[str]) -> str:
    return " and ".join([", ".join(words[:-1]), words[-1]]) if len(words) > 1 else words[0]
