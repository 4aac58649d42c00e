"""`exclave provision`, `deploy`, `rollback` and `deprovision`: the runs that change an install."""

from collections.abc import Callable
from functools import partial
from typing import Annotated

import typer
from pydantic import BaseModel

from client.control_plane import ControlPlane
from client.runs import begin, release_named
from contracts.installs import DeployRequest, DeprovisionRequest, ProvisionRequest, RollbackRequest
from exclave.arguments import DetachOption, InstallArgument, ReleaseArgument, UntilApprovalOption
from exclave.exits import run
from exclave.output import Output, OutputOption
from exclave.watching import WatchOptions, follow_or_leave


def provision(
    install: InstallArgument,
    release: ReleaseArgument,
    detach: DetachOption = False,
    until_approval: UntilApprovalOption = False,
    output: OutputOption = Output.TEXT,
) -> None:
    """Prepare the customer's account: apply a release's sandbox, once its plan is approved.

    The run is followed to its end. A plan that waits is shown at once. At a terminal you are asked
    to approve it; otherwise the command to type is printed, and the run goes on waiting.

    Example:

        exclave provision acme $RELEASE

        exclave provision acme $RELEASE --until-approval
    """
    options = WatchOptions(output, until_approval)
    run(_change(install, "provision", ProvisionRequest, detach, options, release))


def deploy(
    install: InstallArgument,
    release: ReleaseArgument,
    detach: DetachOption = False,
    until_approval: UntilApprovalOption = False,
    output: OutputOption = Output.TEXT,
) -> None:
    """Deploy a release: each component that changes, once its plan is approved.

    The run is followed to its end. A plan that waits is shown at once. At a terminal you are asked
    to approve it; otherwise the command to type is printed, and the run goes on waiting.

    Example:

        exclave deploy acme $RELEASE

        exclave deploy acme $RELEASE --detach

        exclave deploy acme $RELEASE --output json
    """
    options = WatchOptions(output, until_approval)
    run(_change(install, "deploy", DeployRequest, detach, options, release))


def rollback(
    install: InstallArgument,
    release: Annotated[
        str | None,
        typer.Argument(
            metavar="[RELEASE]",
            help="A release that the install has run, or the beginning of its digest; by default "
            "the previous one.",
        ),
    ] = None,
    inputs: Annotated[
        bool,
        typer.Option(
            "--inputs", help="Also restore the inputs of that time, except sensitive ones."
        ),
    ] = False,
    detach: DetachOption = False,
    until_approval: UntilApprovalOption = False,
    output: OutputOption = Output.TEXT,
) -> None:
    """Go back to an older release: a deploy of it, with plans and approvals of its own.

    `exclave status INSTALL` lists the releases that the install has run.

    Example:

        exclave rollback acme

        exclave rollback acme 3f2a9c1b --inputs
    """
    request = partial(RollbackRequest, inputs=inputs)
    options = WatchOptions(output, until_approval)
    run(_change(install, "rollback", request, detach, options, release or None))


def deprovision(
    install: InstallArgument,
    detach: DetachOption = False,
    until_approval: UntilApprovalOption = False,
    output: OutputOption = Output.TEXT,
) -> None:
    """Tear everything down in reverse order, the sandbox last; each plan must be approved.

    Schedules end, and only the journal is left in the install's store.

    Example:

        exclave deprovision acme
    """
    options = WatchOptions(output, until_approval)
    run(_change(install, "deprovision", DeprovisionRequest, detach, options))


async def _change(
    install: str,
    update: str,
    request: Callable[..., BaseModel],
    detach: bool,
    options: WatchOptions,
    release: str | None = None,
) -> None:
    plane = await ControlPlane.reach()
    named = {} if release is None else {"release": await release_named(plane, install, release)}
    started = await begin(plane, install, update, request(**named))
    await follow_or_leave(plane, started, options, detach=detach)
