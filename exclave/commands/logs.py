"""`exclave logs`: prints the output of a run's tools, read from the install's worker."""

from typing import Annotated

import typer

from client.control_plane import ControlPlane
from client.run_logs import Operation, Reader
from client.runs import run_named
from exclave.arguments import ComponentOption, RunArgument
from exclave.exits import run
from exclave.output import Output, OutputOption, print_json
from exclave.screens.logs import LogLines
from exclave.screens.terminal import Lines


def logs(
    name: RunArgument,
    component: ComponentOption = None,
    follow: Annotated[
        bool, typer.Option("--follow", "-f", help="Keep printing until the run has ended.")
    ] = False,
    output: OutputOption = Output.TEXT,
) -> None:
    """Print the output of a run's tools: for each component, and each step of its actions.

    Logs are kept on the customer's side and read from the install's worker, with sensitive values
    masked. If the worker is away, the exit status is 4.

    Example:

        exclave logs deploy/acme/7

        exclave logs acme --component database --follow
    """
    run(_logs(name, component, follow, output))


async def _logs(name: str, component: str | None, follow: bool, output: Output) -> None:
    plane = await ControlPlane.reach()
    run_id = await run_named(plane, name)
    shown = LogLines(Lines())
    reader = Reader(
        plane,
        wanted=lambda operation: component is None or operation.is_of(component),
        write=_print_piece if output is Output.JSON else shown.write,
    )
    count = await (reader.follow(run_id) if follow else reader.read(run_id))
    shown.finish()
    if not count:
        of = f" of {component}" if component else ""
        Lines(err=True)(f"No tool{of} was started in {run_id}.")


def _print_piece(operation: Operation, text: str) -> None:
    print_json(
        {
            "of": operation.subject,
            "operation": operation.name,
            "key": operation.key,
            "text": text,
        }
    )
