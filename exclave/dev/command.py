"""`exclave dev`: reads the declaration, checks ports and data, and runs the control plane."""

import asyncio
import contextlib
from pathlib import Path
from typing import Annotated

import typer

from exclave.dev.child import FailedToStart
from exclave.dev.data import DataFolderInUse, PidFile, hold
from exclave.dev.declaration import Declaration, DeclarationError, read_declaration
from exclave.dev.ports import PortTaken, check_ports
from exclave.dev.supervisor import Supervisor, introduction
from exclave.screens.terminal import write

DEFAULT_FILE = Path("temporal-dev.yaml")


def dev(
    file: Annotated[
        Path, typer.Option("--file", help="The declaration of the control plane.")
    ] = DEFAULT_FILE,
) -> None:
    """Run the development control plane: Temporal, the registry, control and build workers.

    It stays in the foreground. Ctrl-C drains it: workers finish what they are doing. A second
    Ctrl-C interrupts their tools. All its data is in the declared data folder, and is kept across
    restarts.

    Example:

        exclave dev

        exclave dev --file other-ports.yaml
    """
    try:
        declaration = read_declaration(file)
        with hold(declaration.data) as (pids, lock):
            check_ports(declaration, file)
            # The server makes the database file, but not its folder.
            declaration.temporal.database.parent.mkdir(parents=True, exist_ok=True)
            asyncio.run(_run(declaration, pids, lock))
    except (DeclarationError, DataFolderInUse, PortTaken, FailedToStart) as error:
        write(str(error), err=True)
        raise typer.Exit(1) from error
    except OSError as error:
        write(f"exclave dev: {error}", err=True)
        raise typer.Exit(1) from error
    say("Everything has ended.")


def say(text: str) -> None:
    """Print a line; ignore a closed terminal, which must not keep the drain from ending."""
    with contextlib.suppress(OSError):
        write(text)


async def _run(declaration: Declaration, pids: PidFile, lock: int) -> None:
    supervisor = Supervisor(declaration, pids, lock, say)
    introducing = asyncio.create_task(_introduced(supervisor, declaration))
    try:
        await supervisor.run()
    finally:
        introducing.cancel()


async def _introduced(supervisor: Supervisor, declaration: Declaration) -> None:
    await supervisor.up.wait()
    say(introduction(declaration))
