"""`exclave build`: turns the folder of an app config into one release."""

import asyncio
from pathlib import Path
from typing import Annotated

import typer

from client.control_plane import ControlPlane
from client.errors import Refused
from contracts.builds import BuildInput
from contracts.installs import RunStarted
from exclave.arguments import DetachOption, check_name
from exclave.exits import ending, run
from exclave.output import Output, OutputOption
from exclave.screens.outcomes import show_result
from exclave.screens.terminal import SHORT, Lines
from exclave.sources import (
    DEFAULT_REGISTRY,
    FolderArgument,
    RegistryOption,
    check,
    likely_app,
    push,
)
from exclave.watching import WatchOptions, follow_or_leave


def build(
    folder: FolderArgument,
    app: Annotated[
        str | None,
        typer.Option(
            "--app",
            metavar="NAME",
            help="The app; by default the folder's name.",
            callback=check_name,
        ),
    ] = None,
    registry: RegistryOption = DEFAULT_REGISTRY,
    detach: DetachOption = False,
    output: OutputOption = Output.TEXT,
) -> None:
    """Make a release of an app config's folder, and print its digest.

    The folder is checked, uploaded, and built by the workflow Build, which is followed to its end.
    Only the release's digest goes to standard output. The same content gives the same release,
    whenever and wherever it is built.

    Example:

        exclave build examples/shop

        RELEASE=$(exclave build examples/shop)

        exclave build . --app shop --output json
    """
    lines = Lines(err=True)
    with ending():
        name = app or likely_app(folder)
        if name is None:
            raise Refused(
                f"{folder.resolve().name!r} cannot be an app's name; name the app with --app."
            )
        for warning in check(folder):
            lines(warning)
    run(_build(name, folder, registry, detach, output))


async def _build(app: str, folder: Path, registry: str, detach: bool, output: Output) -> None:
    plane = await ControlPlane.reach()
    # First, so that nothing is uploaded for a build that cannot be started.
    await plane.prove_keys()
    asked = BuildInput(app=app, source=await asyncio.to_thread(push, registry, folder))
    # The id follows from the source, so a second build of the same content joins the first.
    workflow_id = f"build/{asked.app}/{asked.source.removeprefix('sha256:')[:SHORT]}"
    summary = f"build {asked.app} of {asked.source[:19]}"
    started = await plane.start("Build", workflow_id, asked, joins=True, summary=summary)
    run_started = RunStarted(
        workflow_id=workflow_id,
        run_id=started.first_execution_run_id or started.result_run_id or "",
    )
    options = WatchOptions(output=output, quiet_answer=True, result=show_result)
    await follow_or_leave(plane, run_started, options, detach=detach)
