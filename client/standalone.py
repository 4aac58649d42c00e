"""An activity that a command has a worker do by itself, without a workflow.

What people only read goes this way: it leaves nothing in the history of a run, and what was read is
deleted from the server.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from datetime import timedelta
from typing import Any, Final, TypeVar
from uuid import uuid4

from pydantic import BaseModel, ValidationError
from temporalio.api.activity.v1 import ActivityExecutionOutcome
from temporalio.api.workflowservice.v1 import (
    DeleteActivityExecutionRequest,
    PollActivityExecutionRequest,
)
from temporalio.client import ActivityFailureError, ActivityHandle, Client
from temporalio.common import RetryPolicy
from temporalio.converter import ActivitySerializationContext, DataConverter
from temporalio.service import RPCError, RPCStatusCode

from client.errors import Refused
from client.refusals import UNKNOWN_ACTIVITY
from contracts.activities import Activity

I = TypeVar("I", bound=BaseModel)  # noqa: E741 - as in the contract
O = TypeVar("O", bound=BaseModel)  # noqa: E741

_TRIES: Final = RetryPolicy(
    initial_interval=timedelta(seconds=0.5),
    maximum_attempts=3,
    non_retryable_error_types=[UNKNOWN_ACTIVITY],
)
_TO_DELETE: Final = timedelta(seconds=5)
_SHOWN = 300
"""How much of what is wrong with an answer is told."""


async def answer_of(client: Client, activity: Activity[I, O], input: I, queue: str) -> O:
    """Have whoever polls the queue do an activity, and return its answer.

    Args:
        client: Connected, with the control side's keys where payloads are encrypted.
        activity: The activity.
        input: Its input.
        queue: The queue of the worker: no other may answer.

    Raises:
        ActivityFailureError: it failed, or nobody took it in time.
        Refused: the answer is none of this activity.
        Unreadable: the answer is not that worker's, or was altered.
        RPCError: the server refuses it, or does not answer.
    """
    handle: ActivityHandle[Any] = await client.start_activity(
        activity.name,
        input,
        id=f"{activity.name}/{uuid4()}",
        task_queue=queue,
        start_to_close_timeout=activity.start_to_close,
        schedule_to_start_timeout=activity.schedule_to_start,
        heartbeat_timeout=activity.heartbeat,
        retry_policy=_TRIES,
    )
    async with _deleted(client, handle):
        outcome = await _outcome(client, handle)
        converter = _converter(client, activity.name, handle.id, queue)
        if outcome.HasField("failure"):
            raise ActivityFailureError(cause=await converter.decode_failure(outcome.failure))
        try:
            [answer] = await converter.decode(outcome.result.payloads, [activity.result])
        except (ValidationError, ValueError) as error:
            raise Refused(
                f"What the worker on the queue {queue} answered is no {activity.result.__name__}: "
                f"{str(error)[:_SHOWN]}"
            ) from error
        if not isinstance(answer, activity.result):
            raise Refused(f"The worker on the queue {queue} answered {activity.name} with nothing.")
        return answer


def _converter(client: Client, name: str, id: str, queue: str) -> DataConverter:
    """Reads the answer of that activity of that worker. By itself the SDK (1.35) reads it knowing
    the activity's id alone, and would take the answer of any install."""
    return client.data_converter.with_context(
        ActivitySerializationContext(
            namespace=client.namespace,
            activity_id=id,
            activity_type=name,
            activity_task_queue=queue,
            workflow_id=None,
            workflow_type=None,
            is_local=False,
        )
    )


async def _outcome(client: Client, handle: "ActivityHandle[Any]") -> ActivityExecutionOutcome:
    """What it came to; asked for again and again, since the server holds each call for a while."""
    request = PollActivityExecutionRequest(
        namespace=client.namespace, activity_id=handle.id, run_id=handle.run_id or ""
    )
    while True:
        try:
            answer = await client.workflow_service.poll_activity_execution(request, retry=True)
        except RPCError as error:
            if error.status != RPCStatusCode.DEADLINE_EXCEEDED:
                raise
        else:
            if answer.HasField("outcome"):
                return answer.outcome


@asynccontextmanager
async def _deleted(client: Client, handle: "ActivityHandle[Any]") -> AsyncIterator[None]:
    """Delete it afterwards, whatever it came to: nobody reads it again."""
    try:
        yield
    finally:
        request = DeleteActivityExecutionRequest(
            namespace=client.namespace, activity_id=handle.id, run_id=handle.run_id or ""
        )
        # What stays is dropped by the server after the namespace's retention.
        with suppress(RPCError):
            await client.workflow_service.delete_activity_execution(request, timeout=_TO_DELETE)
