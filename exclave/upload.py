"""`exclave upload`: checks an app config, and pushes it for a build to take by its digest."""

import json
import re
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from apps.loader import ConfigErrors, load
from artifacts.archive import ArchiveRefused
from artifacts.errors import ArtifactError, RegistryUnreachable
from artifacts.registry import Registry
from artifacts.sources import push_source
from contracts.names import CONTROL_QUEUE, NAME_PATTERN


class Output(StrEnum):
    """How the result is printed."""

    TEXT = "text"
    JSON = "json"


def upload(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="The app config's folder.")],
    registry: Annotated[
        str, typer.Option(help="URL of the registry to push to.", envvar="EXCLAVE_REGISTRY")
    ] = "http://127.0.0.1:5080",
    output: Annotated[Output, typer.Option(help="How to print the result.")] = Output.TEXT,
) -> None:
    """Check an app config and upload it as the source of a build.

    Prints the source's digest alone on standard output; problems and the next command go to
    standard error. With problems nothing is uploaded and the exit status is 1.

    Example:

        exclave upload examples/shop

        exclave upload examples/shop --output json
    """
    warnings = _checked(folder)
    source = _pushed(registry, folder)
    if output is Output.JSON:
        typer.echo(json.dumps({"source": source, "warnings": warnings}))
    else:
        typer.echo(source)
        typer.echo(_next_command(folder, source), err=True)


def _checked(folder: Path) -> list[str]:
    """The warnings of a config that can be used; the command ends with those of any other."""
    try:
        warnings = [str(problem) for problem in load(folder).warnings]
    except ConfigErrors as errors:
        for problem in errors.problems:
            typer.echo(str(problem), err=True)
        raise typer.Exit(1) from errors
    for warning in warnings:
        typer.echo(warning, err=True)
    return warnings


def _pushed(address: str, folder: Path) -> str:
    try:
        with Registry(address) as registry:
            return push_source(registry, folder)
    except RegistryUnreachable as error:
        typer.echo(
            f"{error}; start the development control plane with `exclave dev`, or name another "
            "registry with --registry",
            err=True,
        )
        raise typer.Exit(1) from error
    except (ArchiveRefused, ArtifactError) as error:
        typer.echo(f"{folder} cannot be uploaded: {error}", err=True)
        raise typer.Exit(1) from error


def _next_command(folder: Path, source: str) -> str:
    """How to build what was uploaded; the folder's name is the likeliest name of the app."""
    name = folder.resolve().name
    app = name if re.fullmatch(NAME_PATTERN, name) else "APP"
    build_input = json.dumps({"app": app, "source": source})
    return (
        "Build it (the last part of the id is yours to choose):\n\n"
        f"  temporal workflow start --type Build --task-queue {CONTROL_QUEUE} "
        f"--workflow-id build/{app}/1 --id-conflict-policy Fail --input '{build_input}'"
    )
