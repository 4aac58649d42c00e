"""`exclave upload`: checks an app config, and pushes it as the source of a build."""

import json
from pathlib import Path

from contracts.names import CONTROL_QUEUE
from exclave.exits import ending
from exclave.output import Output, OutputOption, print_json
from exclave.screens.terminal import write
from exclave.sources import (
    DEFAULT_REGISTRY,
    FolderArgument,
    RegistryOption,
    check,
    likely_app,
    push,
)


def upload(
    folder: FolderArgument,
    registry: RegistryOption = DEFAULT_REGISTRY,
    output: OutputOption = Output.TEXT,
) -> None:
    """Check an app config and upload it as the source of a build.

    Only the source's digest goes to standard output; problems and the next command go to standard
    error. If the config has errors, nothing is uploaded and the exit status is 1. `exclave build`
    uploads and builds in one step.

    Example:

        exclave upload examples/shop

        exclave upload examples/shop --output json
    """
    with ending():
        warnings = check(folder)
        for warning in warnings:
            write(warning, err=True)
        source = push(registry, folder)
    if output is Output.JSON:
        print_json({"source": source, "warnings": warnings})
    else:
        write(source)
        write(_next_command(folder, source), err=True)


def _next_command(folder: Path, source: str) -> str:
    """How to build what was uploaded; the folder's name is taken for the app's name."""
    app = likely_app(folder) or "APP"
    build_input = json.dumps({"app": app, "source": source})
    return (
        "Build it (the last part of the id is yours to choose):\n\n"
        f"  temporal workflow start --type Build --task-queue {CONTROL_QUEUE} "
        f"--workflow-id build/{app}/1 --id-conflict-policy Fail --input '{build_input}'"
    )
