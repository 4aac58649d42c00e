"""`exclave action`: runs an action of an install."""

from typing import Annotated

import typer

from client.control_plane import ControlPlane
from client.runs import begin
from contracts.installs import ActRequest
from exclave.arguments import DetachOption, DigestOption, InstallArgument
from exclave.exits import run
from exclave.output import Output, OutputOption
from exclave.screens.outcomes import show_result
from exclave.watching import WatchOptions, follow_or_leave


def action(
    install: InstallArgument,
    name: Annotated[str, typer.Argument(metavar="ACTION", help="The action's name.")],
    release: DigestOption = None,
    detach: DetachOption = False,
    output: OutputOption = Output.TEXT,
) -> None:
    """Run an action, and print the outputs of its steps.

    The action comes from the release that was deployed last, or from the one given by --release.

    Example:

        exclave action acme health

        exclave action acme health --output json
    """
    run(_action(install, ActRequest(action=name, release=release), output, detach))


async def _action(install: str, request: ActRequest, output: Output, detach: bool) -> None:
    plane = await ControlPlane.reach()
    started = await begin(plane, install, "act", request)
    options = WatchOptions(output, quiet_answer=True, result=show_result)
    await follow_or_leave(plane, started, options, detach=detach)
