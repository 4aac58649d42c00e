"""`exclave demo`: prepares folders and a control plane, plays the story, and stays up."""

import asyncio
import os
import sys
from pathlib import Path
from time import monotonic
from typing import Annotated

import typer

from client.control_plane import ControlPlane, quieten
from client.errors import Refused
from exclave.demo.cast import Cast, StoryFailed
from exclave.demo.stage import Stage, control_plane, empty_stage, install_worker
from exclave.demo.story import APP, INSTALL, Story
from exclave.dev.child import FailedToStart
from exclave.dev.data import DataFolderInUse
from exclave.dev.declaration import DeclarationError
from exclave.dev.encryption import export_keys, how_to_read, keys_file
from exclave.dev.supervisor import Supervisor
from exclave.exits import CommandEnded, Exit, run
from exclave.screens.terminal import Lines
from wire.connection import TemporalAddress, connect_once
from wire.encryption.key_settings import master_keys


def demo(
    once: Annotated[
        bool, typer.Option("--once", help="Exit after the story, instead of staying up.")
    ] = False,
    folder: Annotated[
        Path, typer.Option("--folder", help="The folder for all of the demo's data; emptied first.")
    ] = Path(".exclave/demo"),
) -> None:
    """Take the example app through the whole life of an install, with real engines.

    It starts its own control plane, and the machine of one customer. Afterwards all of it stays up,
    so that you can look around; Ctrl-C ends it and leaves no process.

    Example:

        exclave demo

        exclave demo --once
    """
    # If there is no other Terraform, the worker finds the library's command beside our own.
    os.environ["PATH"] = f"{os.environ.get('PATH', '')}{os.pathsep}{Path(sys.executable).parent}"
    run(_demo(folder, once))


async def _demo(folder: Path, once: bool) -> None:
    lines = Lines()
    began = monotonic()
    try:
        with empty_stage(folder) as (stage, pids, lock):
            lines(f"Bringing up a control plane; logs are in {folder / stage.logs.name}.")
            async with control_plane(stage, pids, lock, lines) as (supervisor, running):
                lines(f"Watch it in the Temporal UI: {stage.ui}")
                await _play(stage, supervisor, running, lines)
                lines()
                lines(f"That was the whole story, in {monotonic() - began:.0f} s.")
                if not once:
                    lines.block(_closing(stage))
                    await running
    except (DataFolderInUse, DeclarationError, FailedToStart, StoryFailed, OSError) as error:
        raise Refused(str(error)) from error
    lines("Everything has ended.")


async def _play(
    stage: Stage, supervisor: Supervisor, running: "asyncio.Task[None]", lines: Lines
) -> None:
    """Play the story while the control plane is up."""
    playing = asyncio.create_task(_story(stage, supervisor, lines))
    await asyncio.wait({playing, running}, return_when=asyncio.FIRST_COMPLETED)
    if not playing.done():
        playing.cancel()
        await asyncio.gather(playing, return_exceptions=True)
        running.result()
        raise CommandEnded(Exit.INTERRUPTED, "The story was interrupted.")
    playing.result()


async def _story(stage: Stage, supervisor: Supervisor, lines: Lines) -> None:
    where = TemporalAddress(str(stage.declaration.temporal.address), stage.declaration.namespace)
    quieten()
    plane = ControlPlane(
        where, await connect_once(where, master_keys(keys_file(stage.declaration)))
    )
    cast = Cast(plane, f"http://{stage.declaration.registry.push}", lines)

    async def start_worker(stack: Path) -> None:
        await supervisor.add_worker(install_worker(stage, INSTALL, stack))

    await Story(stage, cast, lines, start_worker).play()


def _closing(stage: Stage) -> str:
    temporal, images = stage.declaration.temporal, stage.declaration.registry
    return f"""
Everything is still up. Look around, and press Ctrl-C to end it:

  Temporal UI   {stage.ui}
  One screen    exclave status
  The install   exclave status {INSTALL}

Or go on, in another terminal:

  export TEMPORAL_ADDRESS={temporal.address} TEMPORAL_NAMESPACE={stage.declaration.namespace}
  export EXCLAVE_REGISTRY=http://{images.push}{export_keys(stage.declaration)}
  exclave build examples/shop --app {APP}
  exclave provision {INSTALL} sha256:…
  exclave deploy {INSTALL} sha256:…
{how_to_read(stage.declaration)}"""
