"""Checks the folder of an app config, and uploads it to the registry for a build."""

import re
from pathlib import Path
from typing import Annotated

import typer

from apps.display_text import shown
from apps.loader import ConfigErrors, load
from artifacts.archive import ArchiveRefused
from artifacts.errors import ArtifactError, RegistryUnreachable
from artifacts.registry import Registry
from artifacts.sources import push_source
from client.errors import Away, Refused
from contracts.engines import ENGINES, deployable
from contracts.names import NAME_PATTERN

FolderArgument = Annotated[Path, typer.Argument(metavar="DIR", help="The app config's folder.")]
RegistryOption = Annotated[
    str,
    typer.Option("--registry", help="URL of the registry to push to.", envvar="EXCLAVE_REGISTRY"),
]
DEFAULT_REGISTRY = "http://127.0.0.1:5080"
"""The registry of `exclave dev`."""


def check(folder: Path) -> list[str]:
    """The warnings of a valid config.

    Raises:
        Refused: the config is invalid; the message lists every problem, one per line.
    """
    try:
        return [shown(str(problem)) for problem in load(folder, deployable(ENGINES)).warnings]
    except ConfigErrors as errors:
        raise Refused("\n".join(shown(str(problem)) for problem in errors.problems)) from errors


def push(address: str, folder: Path) -> str:
    """Upload the folder, and return its digest.

    Raises:
        Away: the registry does not answer.
        Refused: the folder cannot be packed, or the registry does not take it.
    """
    try:
        with Registry(address, keeps=True) as registry:
            return push_source(registry, folder)
    except RegistryUnreachable as error:
        raise Away(
            f"{error}; start the development control plane with `exclave dev`, or name another "
            "registry with --registry"
        ) from error
    except (ArchiveRefused, ArtifactError) as error:
        raise Refused(f"{folder} cannot be uploaded: {error}") from error


def likely_app(folder: Path) -> str | None:
    """The folder's name, if it is a valid name for an app."""
    name = folder.resolve().name
    return name if re.fullmatch(NAME_PATTERN, name) else None
