"""What is outside of a config: what the config names there, and what a build has fetched.

A build reads a config twice. The first time it fetches nothing, like `exclave check`, and `wanted`
lists what the config names. The second time it reads the config with what was fetched, which is
then checked as if it were in the config's own folder.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from apps.config.actions import ActionStep
from apps.config.base import Mark, Model
from apps.config.parts import Part
from apps.config.shape import inner_tables, shape
from apps.config.sources import Source, is_remote
from apps.deployable import Deployable
from apps.keys import below
from apps.reading.addresses import repository_url, shown
from apps.reading.entities import Entities

_SHOWN_COMMIT: Final = 12


@dataclass(frozen=True)
class Tree:
    """A folder in a repository at one commit, or in the config itself."""

    top: Path
    """The folder on this machine that has the repository, or what was fetched of it."""
    directory: str
    """The folder, relative to `top`; empty for the repository itself."""
    repository: str = ""
    """What messages call the repository: `owner/name@commit:`; empty for the config itself."""

    @property
    def folder(self) -> Path:
        """The folder on this machine."""
        return self.top / self.directory

    @property
    def name(self) -> str:
        """What messages call it: `owner/name@commit:directory`, or its directory in the config."""
        return f"{self.repository}{self.directory}"

    def file(self, path: str) -> str:
        """What messages call a file in it."""
        return f"{self.name}/{path}" if self.directory else f"{self.name}{path}"


@dataclass(frozen=True)
class RemoteText:
    """The content of a file from outside of the config."""

    text: str
    name: str
    """What messages call the file."""


@dataclass(frozen=True)
class NotFetched:
    """Why something could not be fetched, if the config is to blame."""

    key: str
    """The wrong key of the source: `repo`, `branch` or `directory`; empty for a reference."""
    message: str


@dataclass(frozen=True)
class Fetched:
    """What was fetched for a config, or could not be fetched."""

    trees: Mapping[Source, Tree | NotFetched] = field(default_factory=dict)
    texts: Mapping[str, RemoteText | NotFetched] = field(default_factory=dict)
    """By the reference, as the config writes it."""


@dataclass(frozen=True)
class Wanted:
    """One thing that a build has to fetch."""

    what: Source | str
    """A folder in a repository, or the reference to a file."""
    file: str
    key: str
    is_module: bool = False
    """It may name files outside its folder, as a Terraform module does."""

    @property
    def note(self) -> str:
        """What `exclave check` says about it."""
        if isinstance(self.what, str):
            return f"is fetched when a release is built, and kept in it: {shown(self.what)}"
        return (
            "is fetched when a release is built, and kept in it: "
            f"{repository_url(self.what.repo)} at {self.what.branch}"
        )


def wanted(entities: Entities, deployable: Deployable) -> list[Wanted]:
    """Everything that a build must fetch, once for each place that names it.

    Only for a config without errors, in which all addresses are valid.
    """
    return [
        Wanted(what, located.file, located.joined(key), is_module=is_module)
        for located in entities.all()
        for what, key, is_module in _named(located.model, deployable)
    ]


def commit_shown(commit: str) -> str:
    """The short form of a commit in messages."""
    return commit[:_SHOWN_COMMIT]


def _named(
    model: Model, deployable: Deployable, at: str = ""
) -> Iterator[tuple[Source | str, str, bool]]:
    for name, slot in shape(type(model)).items():
        value, place = getattr(model, name), below(at, name)
        if Mark.REFERENCE in slot.marks and isinstance(value, str) and is_remote(value):
            yield value.strip(), place, False
        elif isinstance(value, Source):
            # Of what nobody can deploy yet, nothing is fetched.
            is_used = isinstance(model, ActionStep) or deployable.has(model)
            if is_used and not value.is_local:
                is_module = isinstance(model, Part) and model.reaches_out
                yield value, below(place, "repo"), is_module
        elif slot.inner is not None:
            for key, inner in inner_tables(value, slot, place):
                yield from _named(inner, deployable, key)
