"""The problems of an app config, all of them reported at once."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

Severity = Literal["error", "warning", "note"]
"""A note is about what the format has but Exclave does not support yet, or what a build will
fetch."""


@dataclass(frozen=True)
class Problem:
    """One thing that is wrong: where, why, and what would be right."""

    file: str
    """The file, relative to the config's folder, with `/`."""
    key: str
    """The path of the key within the file, as `apps.keys` writes it; empty for the whole file."""
    message: str
    severity: Severity = "error"
    line: int | None = None
    """Counted from 1; None if the file is missing, or not text."""

    def __str__(self) -> str:
        """The problem in the form that compilers use."""
        where = self.file if self.line is None else f"{self.file}:{self.line}"
        what = f"{self.key}: {self.message}" if self.key else self.message
        return f"{where}: {self.severity}: {what}"


class ConfigErrors(Exception):
    """The app config cannot be used; `problems` holds everything that is wrong, by file."""

    def __init__(self, problems: Sequence[Problem]) -> None:
        self.problems = list(problems)
        super().__init__("\n".join(str(problem) for problem in self.problems))
