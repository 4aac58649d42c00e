"""A worker that the test is itself: it takes a task when the test says so, and not before."""

from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel
from temporalio.api.common.v1 import Payloads
from temporalio.api.taskqueue.v1 import TaskQueue
from temporalio.api.workflowservice.v1 import (
    PollActivityTaskQueueRequest,
    PollActivityTaskQueueResponse,
    RecordActivityTaskHeartbeatRequest,
    RespondActivityTaskCanceledRequest,
    RespondActivityTaskCompletedRequest,
)
from temporalio.client import Client
from temporalio.converter import ActivitySerializationContext, DataConverter

IDENTITY = "by hand"


@dataclass(frozen=True)
class Task:
    """An activity that has started, and that nobody works on."""

    token: bytes
    type: str
    input: dict[str, Any]
    converter: DataConverter


class HandWorker:
    """Polls one queue for one task at a time, with the keys of its client."""

    def __init__(self, client: Client, queue: str) -> None:
        self._client = client
        self._queue = queue

    async def take(self) -> Task:
        """Start the next activity of the queue, once there is one."""
        request = PollActivityTaskQueueRequest(
            namespace=self._client.namespace,
            task_queue=TaskQueue(name=self._queue),
            identity=IDENTITY,
        )
        found = PollActivityTaskQueueResponse()
        while not found.task_token:
            found = await self._client.workflow_service.poll_activity_task_queue(request)
        converter = self._client.data_converter.with_context(
            ActivitySerializationContext(
                namespace=self._client.namespace,
                activity_id=found.activity_id,
                activity_type=found.activity_type.name,
                activity_task_queue=self._queue,
                workflow_id=found.workflow_execution.workflow_id,
                workflow_type=found.workflow_type.name,
                is_local=False,
            )
        )
        (input,) = await converter.decode(found.input.payloads, [dict])
        return Task(found.task_token, found.activity_type.name, input, converter)

    async def complete(self, task: Task, result: BaseModel) -> None:
        """Answer it."""
        await self._client.workflow_service.respond_activity_task_completed(
            RespondActivityTaskCompletedRequest(
                namespace=self._client.namespace,
                task_token=task.token,
                identity=IDENTITY,
                result=Payloads(payloads=await task.converter.encode([result])),
            )
        )

    async def is_cancelled(self, task: Task, *told: str) -> bool:
        """Heartbeat, and say whether the run wants it no more."""
        answer = await self._client.workflow_service.record_activity_task_heartbeat(
            RecordActivityTaskHeartbeatRequest(
                namespace=self._client.namespace,
                task_token=task.token,
                identity=IDENTITY,
                details=Payloads(payloads=await task.converter.encode(told)),
            )
        )
        return answer.cancel_requested

    async def cancelled(self, task: Task) -> None:
        """Answer that it has stopped."""
        await self._client.workflow_service.respond_activity_task_canceled(
            RespondActivityTaskCanceledRequest(
                namespace=self._client.namespace, task_token=task.token, identity=IDENTITY
            )
        )
