"""Collects the problems of a config, and at the end finds the line of each."""

from collections.abc import Callable
from dataclasses import dataclass, replace

from apps.keys import parent
from apps.reading.positions import Positions
from apps.reading.problems import Problem, Severity

MAX_PROBLEMS = 1000


class TooManyProblems(Exception):
    """Nobody reads more, so the search ends there."""


@dataclass(frozen=True)
class _Found:
    problem: Problem
    within: int | None
    """The line within the key's string."""


class Findings:
    """The problems found so far."""

    def __init__(self) -> None:
        self._found: dict[_Found, None] = {}
        self._sources: dict[tuple[str, str], str] = {}
        self._replaced: dict[str, dict[str, frozenset[str]]] = {}
        """By file and key: the key, and the tables that hold it."""

    # All three raise TooManyProblems when there are MAX_PROBLEMS already.

    def error(
        self, file: str, key: str, message: str, line: int | None = None, within: int | None = None
    ) -> None:
        """Adds an error.

        Args:
            file: The file, relative to the config's folder.
            key: The path of the key that is wrong.
            message: What is wrong, and what would be right.
            line: The line of the file, if known.
            within: If the problem is in the key's string: the line within it, counted from 1.
        """
        self._add(_Found(Problem(file, key, _on_a_line(message), "error", line), within))

    def warning(
        self, file: str, key: str, message: str, line: int | None = None, within: int | None = None
    ) -> None:
        """Adds a warning; the arguments are those of `error`."""
        self._add(_Found(Problem(file, key, _on_a_line(message), "warning", line), within))

    def note(self, file: str, key: str, message: str) -> None:
        """Adds a note."""
        self._add(_Found(Problem(file, key, _on_a_line(message), "note"), None))

    def brought_in(self, file: str, key: str, source: str) -> None:
        """Has problems in a key's string reported at the file that the string was read from."""
        self._sources[file, key] = source

    def replaced(self, file: str, at: str, key: str) -> None:
        """Leaves out further problems with a key whose value was replaced to check the rest.

        Also of the tables that hold it, up to its entity, which is at `at`.
        """
        above = [key]
        while above[-1] not in ("", at):
            above.append(parent(above[-1]))
        self._replaced.setdefault(file, {})[key] = frozenset(above)

    @property
    def has_errors(self) -> bool:
        """Whether there is a problem that must be fixed."""
        return any(found.problem.severity == "error" for found in self._found)

    def has_problem(self, file: str) -> bool:
        """Whether there is a problem with the file."""
        return any(found.problem.file == file for found in self._found)

    def placed(self, text_of: Callable[[str], str | None]) -> list[Problem]:
        """All problems with their lines, sorted by severity, file and line.

        `text_of` returns the text of a TOML file, or None if it cannot be read.
        """
        positions: dict[str, Positions | None] = {}
        return in_order([self._placed(found, positions, text_of) for found in self._found])

    def _add(self, found: _Found) -> None:
        if len(self._found) >= MAX_PROBLEMS:
            raise TooManyProblems
        if self._is_of_a_replaced(found.problem):
            return
        self._found.setdefault(found)

    def _is_of_a_replaced(self, problem: Problem) -> bool:
        return any(
            problem.key in above or problem.key.startswith((f"{key}.", f"{key}["))
            for key, above in self._replaced.get(problem.file, {}).items()
        )

    def _placed(
        self,
        found: _Found,
        positions: dict[str, Positions | None],
        text_of: Callable[[str], str | None],
    ) -> Problem:
        problem = found.problem
        if problem.line is not None:
            return problem
        source = self._sources.get((problem.file, problem.key))
        if source is not None and found.within is not None:
            message = f"{problem.message} (read by {problem.file}: {problem.key})"
            return replace(problem, file=source, key="", message=message, line=found.within)
        if not problem.key:
            return replace(problem, line=None if text_of(problem.file) is None else 1)
        if problem.file not in positions:
            text = text_of(problem.file)
            positions[problem.file] = None if text is None else Positions(text)
        places = positions[problem.file]
        if places is None:
            return problem
        if found.within is None:
            return replace(problem, line=places.line(problem.key))
        return replace(problem, line=places.line_within(problem.key, found.within))


_CONTROLS = {
    code: repr(chr(code))[1:-1] for code in (*range(0x20), *range(0x7F, 0xA0), 0x2028, 0x2029)
}


def _on_a_line(message: str) -> str:
    """The message on one line: it may quote names, which can hold anything."""
    return message.translate(_CONTROLS)


def in_order(problems: list[Problem]) -> list[Problem]:
    """Problems sorted by severity, file and line."""
    return sorted(problems, key=lambda one: (_ORDER[one.severity], one.file, one.line or 0))


_ORDER: dict[Severity, int] = {"error": 0, "warning": 1, "note": 2}
