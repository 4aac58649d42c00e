"""Runs a standalone activity on a worker: one without a workflow.

People read views, logs and readmes this way: it leaves nothing in a run's history, and the answer
is deleted from the server once it was read.
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
_TO_DELETE: Final = timedelta(seconds=10)
_SHOWN = 300
"""How many characters of an error about a wrong answer are shown."""


async def answer_of(client: Client, activity: Activity[I, O], input: I, queue: str) -> O:
    """Run an activity on the worker that polls the queue, and return its answer.

    Args:
        client: Connected, with the control side's keys if payloads are encrypted.
        activity: The activity.
        input: Its input.
        queue: The worker's queue; no other worker may answer.

    Raises:
        ActivityFailureError: it failed, or nobody took it in time.
        Refused: the answer is not a result of this activity.
        Unreadable: the answer comes from another worker, or was altered.
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
                f"The answer of the worker on the queue {queue} is no {activity.result.__name__}: "
                f"{str(error)[:_SHOWN]}"
            ) from error
        if not isinstance(answer, activity.result):
            raise Refused(
                f"The worker on the queue {queue} gave an empty answer to {activity.name}."
            )
        return answer


def _converter(client: Client, name: str, id: str, queue: str) -> DataConverter:
    """A converter that accepts only the answer of that worker to that activity.

    The SDK's own (1.35) knows only the activity's id, and would accept any install's answer.
    """
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
    """The activity's outcome. The server holds each call only for a while, so it is repeated."""
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
    """Delete the activity afterwards, whatever its outcome: nobody reads it again."""
    try:
        yield
    finally:
        request = DeleteActivityExecutionRequest(
            namespace=client.namespace, activity_id=handle.id, run_id=handle.run_id or ""
        )
        # If this fails, the server deletes it after the namespace's retention.
        with suppress(RPCError):
            await client.workflow_service.delete_activity_execution(
                request, retry=True, timeout=_TO_DELETE
            )
