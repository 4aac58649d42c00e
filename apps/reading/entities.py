"""The models that were read from a config, with the places where they were written."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from apps.config.base import Model
from apps.keys import below, joined

M = TypeVar("M", bound=Model)
M_co = TypeVar("M_co", bound=Model, covariant=True)


@dataclass(frozen=True)
class Located(Generic[M_co]):
    """A model and where it was written."""

    model: M_co
    file: str
    at: str = ""
    """The key of its table within the file; empty if it is the whole file."""
    kind: str = ""
    """The kind of its file; see `apps.reading.kinds`."""

    def key(self, *names: str | int) -> str:
        """The path within the file of one of the model's keys."""
        return below(self.at, *names)

    def joined(self, key: str) -> str:
        """The path within the file of a path within the model's table."""
        return joined(self.at, key)


@dataclass
class Names:
    """The names of a kind, including those of entities that do not fit their model."""

    known: set[str] = field(default_factory=set)
    complete: bool = True
    """False if a file could not be read: any name may be in it."""

    def lacks(self, name: str) -> bool:
        """Whether the name certainly does not exist."""
        return self.complete and name not in self.known


NAMED = (
    *("group", "input", "secret", "component", "action", "runbook", "role", "named policy"),
    *("policy", "context", "install", "branch", "rule"),
)
"""The known names."""


class Entities:
    """Everything that was read from a config."""

    def __init__(self) -> None:
        self._found: list[Located[Model]] = []
        self.names: dict[str, Names] = {what: Names() for what in NAMED}
        """The names, by what has them, such as `component`."""
        self.lacks_sandbox = True
        """The config has no sandbox, not even an unusable one."""
        self.lacks_runner = True

    def add(self, located: Located[Model]) -> None:
        """Adds a model."""
        self._found.append(located)

    def all(self) -> Iterator[Located[Model]]:
        """Every model, in the order in which they were read."""
        yield from self._found

    def of(self, model: type[M], kind: str | None = None) -> list[Located[M]]:
        """The models of a class and its subclasses; on request only those of one kind of file."""
        return [
            Located(found.model, found.file, found.at, found.kind)
            for found in self._found
            if isinstance(found.model, model) and kind in (None, found.kind)
        ]

    def one(self, model: type[M]) -> Located[M] | None:
        """The model of a class that has at most one."""
        return next(iter(self.of(model)), None)
