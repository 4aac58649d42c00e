"""What is wrong with an app config: one problem each, all of them told at once."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

Severity = Literal["error", "warning"]


@dataclass(frozen=True)
class Problem:
    """One thing that is wrong: where it is, and what would be right."""

    file: str
    """Relative to the config's folder, with `/`."""
    key: str
    """The path of the key within the file, such as `vars.zone`; empty for the whole file."""
    message: str
    severity: Severity = "error"
    line: int | None = None
    """Counted from 1; only of what is known by line, such as a syntax error."""

    def __str__(self) -> str:
        where = self.file if self.line is None else f"{self.file}:{self.line}"
        text = f"{where}: {self.key}: {self.message}" if self.key else f"{where}: {self.message}"
        return f"warning: {text}" if self.severity == "warning" else text


class ConfigErrors(Exception):
    """The app config cannot be used; `problems` holds everything that is wrong, by file."""

    def __init__(self, problems: Sequence[Problem]) -> None:
        self.problems = list(problems)
        super().__init__("\n".join(str(problem) for problem in self.problems))
