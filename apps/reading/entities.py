"""What was read of a config: models with the places that they were written at, and their names."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from apps.config.base import Model
from apps.keys import below, joined

M = TypeVar("M", bound=Model)
M_co = TypeVar("M_co", bound=Model, covariant=True)


@dataclass(frozen=True)
class Located(Generic[M_co]):
    """A model, and where it was written."""

    model: M_co
    file: str
    at: str = ""
    """The key of its table within the file; empty if it is the whole file."""
    kind: str = ""
    """The kind of its file; see `apps.reading.kinds`."""

    def key(self, *names: str | int) -> str:
        """The path of one of its keys within the file."""
        return below(self.at, *names)

    def joined(self, key: str) -> str:
        """The path within the file of a path within its table."""
        return joined(self.at, key)


@dataclass
class Names:
    """The names of a kind, with those of entities that do not fit their model."""

    known: set[str] = field(default_factory=set)
    complete: bool = True
    """False if a file could not be read: then any name may be there."""

    def lacks(self, name: str) -> bool:
        """Whether the name is surely not there."""
        return self.complete and name not in self.known


NAMED = (
    *("group", "input", "secret", "component", "action", "runbook", "role", "named policy"),
    *("policy", "context", "install", "branch", "rule"),
)
"""What is known by a name."""


class Entities:
    """All that was read of a config."""

    def __init__(self) -> None:
        self._found: list[Located[Model]] = []
        self.names: dict[str, Names] = {what: Names() for what in NAMED}
        """By what it is, such as `component`."""
        self.lacks_sandbox = True
        """Nothing was written of a sandbox, not even what cannot be used."""
        self.lacks_runner = True

    def add(self, located: Located[Model]) -> None:
        """Keeps a model."""
        self._found.append(located)

    def all(self) -> Iterator[Located[Model]]:
        """Every model, in the order it was read."""
        yield from self._found

    def of(self, model: type[M], kind: str | None = None) -> list[Located[M]]:
        """The models of a class, or of a class below it; of that kind of file alone, if one."""
        return [
            Located(found.model, found.file, found.at, found.kind)
            for found in self._found
            if isinstance(found.model, model) and kind in (None, found.kind)
        ]

    def one(self, model: type[M]) -> Located[M] | None:
        """The model of a class of which there is at most one."""
        return next(iter(self.of(model)), None)
