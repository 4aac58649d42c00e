"""Collects what is wrong with a config, and finds the line of each problem at the end."""

from collections.abc import Callable
from dataclasses import dataclass, replace

from apps.positions import Positions
from apps.problems import Problem, Severity


@dataclass(frozen=True)
class _Found:
    problem: Problem
    within: int | None
    """The line within the key's string."""


class Findings:
    """The problems found so far."""

    def __init__(self) -> None:
        self._found: dict[_Found, None] = {}

    def error(
        self, file: str, key: str, message: str, line: int | None = None, within: int | None = None
    ) -> None:
        """Adds an error.

        Args:
            file: Relative to the config's folder.
            key: The path of the key that is wrong.
            message: What is wrong, and what would be right.
            line: Of the file, where that is known.
            within: The line within the key's string, counted from 1, where it is about that.
        """
        self._found.setdefault(_Found(Problem(file, key, message, "error", line), within))

    def warning(self, file: str, key: str, message: str, within: int | None = None) -> None:
        """Adds a warning."""
        self._found.setdefault(_Found(Problem(file, key, message, "warning"), within))

    def note(self, file: str, key: str, message: str) -> None:
        """Adds a note."""
        self._found.setdefault(_Found(Problem(file, key, message, "note"), None))

    def tells_of(self, file: str) -> bool:
        """Whether there is a problem with the file."""
        return any(found.problem.file == file for found in self._found)

    def placed(self, text_of: Callable[[str], str | None]) -> list[Problem]:
        """All problems with their lines, by file and line; the worst first.

        `text_of` gives the text of a TOML file, or None if it has none.
        """
        positions: dict[str, Positions | None] = {}
        placed = [self._placed(found, positions, text_of) for found in self._found]
        return sorted(placed, key=lambda one: (_ORDER[one.severity], one.file, one.line or 0))

    def _placed(
        self,
        found: _Found,
        positions: dict[str, Positions | None],
        text_of: Callable[[str], str | None],
    ) -> Problem:
        problem = found.problem
        if problem.line is not None:
            return problem
        if problem.file not in positions:
            text = text_of(problem.file)
            positions[problem.file] = None if text is None else Positions(text)
        places = positions[problem.file]
        if places is None:
            return problem
        if found.within is None:
            return replace(problem, line=places.line(problem.key))
        return replace(problem, line=places.line_within(problem.key, found.within))


_ORDER: dict[Severity, int] = {"error": 0, "warning": 1, "note": 2}
