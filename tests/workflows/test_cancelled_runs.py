"""A run that is cancelled ends once the worker has said that its tool is gone, and not before."""

import asyncio
from collections.abc import Awaitable, Callable

import pytest
from temporalio.api.enums.v1 import EventType
from temporalio.client import Client, WorkflowExecutionStatus
from temporalio.service import RPCError

from contracts.actions import StepInput
from contracts.deploys import ApplyInput, PlanInput, TriggeredAction
from contracts.errors import NotUnderstood
from contracts.operations import StopInput
from tests.workflow_histories import history_of, record
from tests.workflows.workflow_site import (
    PATIENCE_SECONDS,
    RELEASE,
    FakeControl,
    Handle,
    Site,
    approve,
    decision,
    ended,
    until,
)

pytestmark = pytest.mark.asyncio(loop_scope="session")

OPERATIONS = (PlanInput, ApplyInput, StepInput)
AWAY = "waits for the install worker to say that"


async def site_without_worker(client: Client, releases: FakeControl, install: str) -> Site:
    site = Site(client, install)
    releases.inputs[site.app] = []
    return site


async def details(run: Handle) -> str:
    """The current details, as the UI asks for them."""
    found: str = await run.query("__temporal_workflow_metadata", result_type=dict)
    return str(found)


async def cancelling(run: Handle) -> None:
    """The run waits for its worker, and says so."""

    async def look() -> bool:
        return AWAY in await details(run)

    await until(look)
    assert (await run.describe()).status == WorkflowExecutionStatus.RUNNING


async def in_apply(site: Site) -> Handle:
    await site.begin()
    site.worker.gate("apply net")
    run = await site.deploy()
    await approve(run, "net")
    await site.worker.wait_for("apply net")
    return run


async def in_plan(site: Site) -> Handle:
    await site.begin()
    site.worker.gate("plan net")
    run = await site.deploy()
    await site.worker.wait_for("plan net")
    return run


async def in_step(site: Site) -> Handle:
    site.worker.gate("step 0")
    input = {"install": site.install, "action": "health"}
    run = await site.start("Action", f"action/{site.install}/health/1", input)
    await site.worker.wait_for("step 0")
    return run


@pytest.mark.parametrize("begin", [in_apply, in_plan, in_step])
async def test_a_worker_that_is_away_keeps_the_run_cancelling(
    client: Client,
    releases: FakeControl,
    install: str,
    begin: Callable[[Site], Awaitable[Handle]],
) -> None:
    subject = "action/health" if begin is in_step else "net"
    site = await site_without_worker(client, releases, install)
    async with site.serving():
        run = await begin(site)
    # The worker left in the middle: the next attempt has not begun.
    await run.cancel()
    await cancelling(run)
    assert not site.worker.told(StopInput)
    site.worker.gates.clear()
    site.worker.begun.clear()
    async with site.serving():
        assert await ended(run) == WorkflowExecutionStatus.CANCELED
    [stop] = site.worker.told(StopInput)
    begun = [one.key for one in site.worker.inputs if isinstance(one, OPERATIONS)]
    assert (stop.subject, stop.install, stop.requires) == (subject, install, ["stop/1"])
    assert stop.key == begun[-1], "exactly the operation that was under way"
    assert {"describe", f"stop {subject}"} >= set(site.worker.begun), "no other attempt was made"


async def test_the_turn_is_held_until_the_tool_is_gone(site: Site) -> None:
    gate = site.worker.gate("stop net")
    run = await in_apply(site)
    await run.cancel()
    await site.worker.wait_for("stop net")
    await site.worker.passed(0.2)
    assert (await run.describe()).status == WorkflowExecutionStatus.RUNNING
    await site.holder(run)
    # A second cancel does not end the wait.
    await run.cancel()
    gate.set()
    assert await ended(run) == WorkflowExecutionStatus.CANCELED
    await site.holder(None)


async def test_an_old_worker_that_cannot_stop_is_not_waited_for(site: Site) -> None:
    site.worker.answers["stop net"] = [NotUnderstood("no stop/1 here")]
    run = await in_apply(site)
    await run.cancel()
    assert await ended(run) == WorkflowExecutionStatus.CANCELED


async def until_cancel_is_told(run: Handle) -> None:
    """Until the run has asked for the end of the activity that it waits for."""
    told = EventType.EVENT_TYPE_ACTIVITY_TASK_CANCEL_REQUESTED
    async with asyncio.timeout(PATIENCE_SECONDS):
        async for event in run.fetch_history_events(wait_new_event=True):
            if event.event_type == told:
                return


@pytest.mark.parametrize(
    ("during", "never"),
    [
        ("provision scope", "plan sandbox"),
        ("scope", "plan net"),
        ("plan net", "apply net"),
        ("apply net", "finish"),
        ("action scope", "step 0"),
    ],
)
async def test_a_cancel_counts_though_what_it_met_ended_well(
    site: Site, during: str, never: str, request: pytest.FixtureRequest
) -> None:
    """The SDK gives the result, and tells of the cancel no more.

    With --record-histories one is kept, for the fast replay tests.
    """
    site.worker.deaf = True
    gate = site.worker.gate(during)
    await site.begin()
    match during:
        case "provision scope":
            run = await site.run("provision", {"release": RELEASE})
        case "action scope":
            run = await site.run("act", {"action": "health"})
        case _:
            run = await site.deploy()
    if during == "apply net":
        await approve(run, "net")
    await site.worker.wait_for(during)
    await run.cancel()
    await until_cancel_is_told(run)
    gate.set()
    assert await ended(run) == WorkflowExecutionStatus.CANCELED
    assert never not in site.worker.begun
    await site.holder(None)
    if during == "scope" and request.config.getoption("--record-histories"):
        record("deploy-cancel-kept", await history_of(run))


async def test_a_cancel_counts_though_nobody_is_left_to_answer_it(
    site: Site, request: pytest.FixtureRequest
) -> None:
    """Of three parts in a row, the first one's plan ends well: the others do not wait for it."""
    site.worker.decisions = [decision("net"), decision("db", "net"), decision("web", "db")]
    await test_a_cancel_counts_though_what_it_met_ended_well(site, "plan net", "plan db", request)


async def test_where_no_tool_can_be_nobody_is_asked(site: Site) -> None:
    await site.begin()
    gate = site.worker.gate("scope")
    run = await site.deploy()
    await site.worker.wait_for("scope")
    await run.cancel()
    gate.set()
    assert await ended(run) == WorkflowExecutionStatus.CANCELED
    assert not site.worker.told(StopInput)
    with pytest.raises(RPCError):
        await run.terminate("it has ended")


@pytest.mark.parametrize("end", [Handle.cancel, Handle.terminate])
async def test_the_action_of_a_run_ends_with_a_cancel_alone(
    site: Site, end: Callable[[Handle], Awaitable[None]]
) -> None:
    """A run that was terminated, or that the server ended, is no reason to interrupt a script."""
    await site.begin()
    site.worker.actions = [TriggeredAction(action="health", trigger="pre-deploy-all-components")]
    gate = site.worker.gate("step 0")
    run = await site.deploy()
    await site.worker.wait_for("step 0")
    [action] = (await run.describe()).raw_description.pending_children
    await end(run)
    if end is Handle.cancel:
        assert await ended(run) == WorkflowExecutionStatus.CANCELED
    gate.set()
    how = await ended(site.client.get_workflow_handle(action.workflow_id))
    expected = (
        WorkflowExecutionStatus.CANCELED
        if end is Handle.cancel
        else WorkflowExecutionStatus.COMPLETED
    )
    assert how == expected
    assert len(site.worker.told(StopInput)) == (end is Handle.cancel)
