"""`exclave cancel`: ends a run early, once its tools have stopped."""

from temporalio.service import RPCError

from client.control_plane import ControlPlane
from client.errors import Refused
from client.refusals import ANSWER
from client.runs import run_that_changes
from client.stuck import stuck_if_asked
from contracts.names import owner_of
from exclave.arguments import DetachOption, RunArgument
from exclave.exits import run
from exclave.output import Output, OutputOption, print_json
from exclave.screens.terminal import Lines
from exclave.watching import WatchOptions, watch

_MEANINGS = {
    "build": "There is a release only if it was already made; nothing was deployed.",
    "action": "The running step is interrupted, and no further step begins.",
}
_OF_INSTALLS = (
    "Nothing more begins. A running tool is interrupted, and the run ends once the install's "
    "worker has confirmed that it has stopped. What was applied stays: nothing is rolled back. To "
    "reach the state that you want, deploy again, or roll back."
)

_ENTITIES = {
    "install": "the install itself, which grants turns to runs",
    "access": "the workflow that knows which workers may pass the gateway",
}


def cancel(
    name: RunArgument, detach: DetachOption = False, output: OutputOption = Output.TEXT
) -> None:
    """Cancel a run: it begins nothing more, and its tools are interrupted.

    A tool is first asked to stop by itself, so that it can record what it has done; that may take
    minutes. What was applied stays as it is. While the install's worker is away, the run waits for
    it and no other run can change the install: only the worker knows whether a tool still runs.

    Example:

        exclave cancel deploy/acme/7

        exclave cancel acme

        exclave cancel build/shop/2026-01-01 --detach
    """
    run(_cancel(name, detach, output))


async def _cancel(name: str, detach: bool, output: Output) -> None:
    plane = await ControlPlane.reach()
    workflow_id = await run_that_changes(plane, name)
    if workflow_id is None:
        raise Refused(f"There is nothing to cancel: no run is changing {name}.")
    kind = _kind(workflow_id)
    await _ask(plane, workflow_id)
    stuck = await stuck_if_asked(plane.client, workflow_id)
    if stuck:
        raise Refused(f"{stuck}\nThe cancel is noted, and takes effect once the run goes on.")
    if output is Output.JSON and detach:
        print_json({"run": workflow_id, "cancelling": True})
    if output is Output.TEXT:
        Lines(err=True)(f"{workflow_id} is being cancelled. {_MEANINGS.get(kind, _OF_INSTALLS)}")
    if not detach:
        end = await watch(plane, workflow_id, "", WatchOptions(output, wanted="cancelled"))
        if output is Output.TEXT:
            Lines()(f"{workflow_id} is {end.how}.")


def _kind(workflow_id: str) -> str:
    kind, _ = owner_of(workflow_id) or ("", "")
    if kind in _ENTITIES:
        raise Refused(
            f"{workflow_id} is not a run, but {_ENTITIES[kind]}; it cannot be cancelled. Name a "
            "run, such as deploy/acme/7."
        )
    return kind


async def _ask(plane: ControlPlane, workflow_id: str) -> None:
    try:
        handle = plane.run(workflow_id)
        status = (await handle.describe(rpc_timeout=ANSWER)).status
        if status is not None and status.name != "RUNNING":
            raise await plane.refusals.of_ended(workflow_id)
        await handle.cancel(rpc_timeout=ANSWER)
    except RPCError as error:
        raise await plane.refusals.of_call(error, workflow_id) from error
