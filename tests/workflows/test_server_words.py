"""What Temporal's server writes by itself where a worker answers: all of it is known, and read."""

import asyncio
from collections.abc import AsyncIterator
from datetime import timedelta
from typing import Any
from uuid import uuid4

import pytest
import pytest_asyncio
from google.protobuf.message import Message
from temporalio import workflow
from temporalio.api.common.v1 import Payload, WorkflowExecution
from temporalio.api.enums.v1 import EventType, WorkflowTaskFailedCause
from temporalio.api.history.v1 import HistoryEvent
from temporalio.api.workflowservice.v1 import ResetWorkflowExecutionRequest
from temporalio.client import ActivityFailureError, WorkflowExecutionStatus
from temporalio.common import RetryPolicy
from temporalio.exceptions import ActivityError, CancelledError
from temporalio.worker import UnsandboxedWorkflowRunner, Worker
from temporalio.workflow import ActivityCancellationType

from contracts.messages import Nothing
from contracts.names import install_queue
from contracts.readmes import Readme
from tests.workflows.encrypted_plane import EncryptedPlane, encrypted_plane
from tests.workflows.workflow_site import PATIENCE_SECONDS, Handle, ended
from wire.encryption.server_payloads import NOT_STARTED
from wire.encryption.unreadable import ENCRYPTED

pytestmark = pytest.mark.asyncio(loop_scope="module")

QUEUE = "probes"
SECOND = timedelta(seconds=1)
TIMEOUTS: dict[str, dict[str, Any]] = {
    "schedule to start": {
        "schedule_to_start_timeout": SECOND,
        "start_to_close_timeout": 60 * SECOND,
    },
    "schedule to close": {"schedule_to_close_timeout": SECOND},
    "start to close": {"start_to_close_timeout": SECOND},
    "heartbeat": {"heartbeat_timeout": SECOND, "start_to_close_timeout": 60 * SECOND},
    "none": {"start_to_close_timeout": 60 * SECOND},
}
ANSWERS = frozenset(
    {
        EventType.EVENT_TYPE_ACTIVITY_TASK_STARTED,
        EventType.EVENT_TYPE_ACTIVITY_TASK_COMPLETED,
        EventType.EVENT_TYPE_ACTIVITY_TASK_FAILED,
        EventType.EVENT_TYPE_ACTIVITY_TASK_TIMED_OUT,
        EventType.EVENT_TYPE_ACTIVITY_TASK_CANCELED,
    }
)


@workflow.defn(name="Probe")
class Probe:
    """Has one thing done by the install worker, and tells how that ended."""

    @workflow.run
    async def run(self, install: str, timeout: str) -> str:
        try:
            await workflow.execute_activity(
                "probe",
                {},
                result_type=dict,
                task_queue=install_queue(install),
                retry_policy=RetryPolicy(maximum_attempts=1),
                cancellation_type=ActivityCancellationType.WAIT_CANCELLATION_COMPLETED,
                **TIMEOUTS[timeout],
            )
        except ActivityError as error:
            return type(error.cause).__name__
        return "done"


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def plane() -> AsyncIterator[EncryptedPlane]:
    async with encrypted_plane(replays=False) as started:
        prober = Worker(
            started.client,
            task_queue=QUEUE,
            workflows=[Probe],
            workflow_runner=UnsandboxedWorkflowRunner(),
        )
        async with prober:
            yield started


async def probe(plane: EncryptedPlane, install: str, timeout: str = "none") -> Handle:
    return await plane.client.start_workflow(
        "Probe", args=[install, timeout], id=f"probe/{install}/1", task_queue=QUEUE
    )


async def until_event(run: Handle, kind: "EventType.ValueType") -> HistoryEvent:
    async with asyncio.timeout(PATIENCE_SECONDS):
        async for event in run.fetch_history_events(wait_new_event=True):
            if event.event_type == kind:
                return event
    raise AssertionError(f"{run.id} ended before")


async def plain_answers(run: Handle) -> list[Payload]:
    """What lies in the history where a worker answers, and no key has encrypted."""
    return [
        payload
        async for event in run.fetch_history_events()
        if event.event_type in ANSWERS
        for payload in payloads_of(event)
        if payload.metadata["encoding"] != ENCRYPTED
    ]


def payloads_of(message: Message) -> list[Payload]:
    if isinstance(message, Payload):
        return [message]
    inner = [value for field, value in message.ListFields() if field.message_type is not None]
    several = [[one] if isinstance(one, Message) else list(one) for one in inner]
    return [found for ones in several for one in ones for found in payloads_of(one)]


async def came_to(run: Handle) -> str:
    async with asyncio.timeout(PATIENCE_SECONDS):
        result: str = await run.result()
    reset = WorkflowTaskFailedCause.WORKFLOW_TASK_FAILED_CAUSE_RESET_WORKFLOW
    for event in (await run.fetch_history()).events:
        if event.event_type == EventType.EVENT_TYPE_WORKFLOW_TASK_FAILED:
            assert event.workflow_task_failed_event_attributes.cause == reset, event
    return result


@pytest.mark.parametrize("timeout", sorted(TIMEOUTS.keys() - {"none"}))
async def test_of_a_timeout_it_says_nothing_of_its_own(
    plane: EncryptedPlane, install: str, timeout: str
) -> None:
    run, worker = await probe(plane, install, timeout), plane.install_worker(install)
    if not timeout.startswith("schedule"):
        task = await worker.take()
        await worker.is_cancelled(task, "works on it")
    assert await came_to(run) == "TimeoutError"
    assert await plain_answers(run) == []


async def test_of_a_cancel_before_the_start_it_says_that(
    plane: EncryptedPlane, install: str
) -> None:
    run = await probe(plane, install)
    await until_event(run, EventType.EVENT_TYPE_ACTIVITY_TASK_SCHEDULED)
    await run.cancel()
    assert await came_to(run) == "CancelledError"
    assert await plain_answers(run) == [NOT_STARTED]


async def test_of_a_cancel_after_the_start_it_says_nothing(
    plane: EncryptedPlane, install: str
) -> None:
    run, worker = await probe(plane, install), plane.install_worker(install)
    task = await worker.take()
    await run.cancel()
    await until_event(run, EventType.EVENT_TYPE_ACTIVITY_TASK_CANCEL_REQUESTED)
    assert await worker.is_cancelled(task, "works on it")
    await worker.cancelled(task)
    assert await came_to(run) == "CancelledError"
    assert await plain_answers(run) == []


@pytest.mark.parametrize("started", [False, True])
async def test_of_a_termination_it_says_nothing(
    plane: EncryptedPlane, install: str, started: bool
) -> None:
    run = await probe(plane, install)
    if started:
        await plane.install_worker(install).take()
    await until_event(run, EventType.EVENT_TYPE_ACTIVITY_TASK_SCHEDULED)
    await run.terminate("a reason", "and details")
    assert await ended(run) == WorkflowExecutionStatus.TERMINATED
    assert await plain_answers(run) == []


@pytest.mark.parametrize("started", [False, True])
async def test_of_a_reset_it_says_nothing(
    plane: EncryptedPlane, install: str, started: bool
) -> None:
    """What was under way at the point of reset is given out again."""
    run, worker = await probe(plane, install), plane.install_worker(install)
    if started:
        await worker.is_cancelled(await worker.take(), "works on it")
        # So that there is a point to reset to after the start.
        await run.signal("nothing")
        await until_event(run, EventType.EVENT_TYPE_WORKFLOW_EXECUTION_SIGNALED)
    await until_event(run, EventType.EVENT_TYPE_ACTIVITY_TASK_SCHEDULED)
    tasks = [
        event.event_id
        for event in (await run.fetch_history()).events
        if event.event_type == EventType.EVENT_TYPE_WORKFLOW_TASK_COMPLETED
    ]
    reset = await plane.client.workflow_service.reset_workflow_execution(
        ResetWorkflowExecutionRequest(
            namespace="dev",
            workflow_execution=WorkflowExecution(workflow_id=run.id),
            reason="to see what is written",
            request_id=str(uuid4()),
            workflow_task_finish_event_id=tasks[-1],
        )
    )
    again = plane.client.get_workflow_handle(run.id, run_id=reset.run_id)
    await worker.complete(await worker.take(), Nothing())
    assert await came_to(again) == "done"
    assert await plain_answers(again) == []


@pytest.mark.parametrize("reason", ["not needed any more", ""])
async def test_of_an_activity_by_itself_it_says_why_it_was_cancelled(
    plane: EncryptedPlane, install: str, reason: str
) -> None:
    asked = await plane.client.start_activity(
        "install.readme",
        {"install": install},
        id=f"install.readme/{uuid4()}",
        task_queue=install_queue(install),
        start_to_close_timeout=60 * SECOND,
        result_type=Readme,
    )
    await asked.cancel(reason=reason)
    with pytest.raises(ActivityFailureError) as caught:
        await asked.result()
    assert isinstance(caught.value.cause, CancelledError)
    assert list(caught.value.cause.details) == [reason]
