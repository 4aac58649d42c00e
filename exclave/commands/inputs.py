"""`exclave set-inputs`: sets values of the app's inputs for the next deploy."""

from typing import Annotated

import typer

from client.control_plane import ControlPlane
from client.runs import update_install
from contracts.deploys import Inputs
from contracts.installs import SetInputs
from exclave.arguments import InstallArgument
from exclave.exits import run
from exclave.output import Output, OutputOption, print_json
from exclave.screens.terminal import Lines


def set_inputs(
    install: InstallArgument,
    values: Annotated[
        list[str] | None,
        typer.Argument(metavar="[NAME=VALUE]...", help="Inputs and their new values."),
    ] = None,
    unset: Annotated[
        list[str] | None,
        typer.Option("--unset", metavar="NAME", help="Reset this input to its default."),
    ] = None,
    output: OutputOption = Output.TEXT,
) -> None:
    """Set inputs of an install; the next deploy uses them, and plans what references them.

    A sensitive input never passes through the control plane: it is set on the customer's side,
    with `exclave worker set-input`.

    Example:

        exclave set-inputs acme region=eu-west-1 size=large

        exclave set-inputs acme --unset size
    """
    changes = {**_values(values or []), **dict.fromkeys(unset or [])}
    if not changes:
        raise typer.BadParameter("name at least one input: NAME=VALUE, or --unset NAME")
    run(_set_inputs(install, changes, output))


def _values(arguments: list[str]) -> dict[str, str | None]:
    found: dict[str, str | None] = {}
    for argument in arguments:
        name, equals, value = argument.partition("=")
        if not equals or not name:
            raise typer.BadParameter(f"{argument!r} is not NAME=VALUE")
        found[name] = value
    return found


async def _set_inputs(install: str, values: dict[str, str | None], output: Output) -> None:
    plane = await ControlPlane.reach()
    inputs = await update_install(plane, install, "set_inputs", SetInputs(values=values), Inputs)
    if output is Output.JSON:
        print_json({"install": install, "revision": inputs.revision, "values": inputs.values})
    else:
        Lines(err=True)(
            f"{', '.join(values)} of {install}: revision {inputs.revision}, for the next deploy."
        )
