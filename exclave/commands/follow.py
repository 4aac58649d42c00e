"""`exclave follow`: follows a run that was started before, to its end."""

from client.control_plane import ControlPlane
from client.runs import run_named
from exclave.arguments import RunArgument, UntilApprovalOption
from exclave.exits import run
from exclave.output import Output, OutputOption
from exclave.screens.outcomes import show_result
from exclave.watching import WatchOptions, watch


def follow(
    name: RunArgument,
    until_approval: UntilApprovalOption = False,
    output: OutputOption = Output.TEXT,
) -> None:
    """Follow a run to its end, as the command that started it does.

    Example:

        exclave follow deploy/acme/7

        exclave follow acme --until-approval
    """
    run(_follow(name, WatchOptions(output, until_approval, result=show_result)))


async def _follow(name: str, options: WatchOptions) -> None:
    plane = await ControlPlane.reach()
    await watch(plane, await run_named(plane, name), "", options)
