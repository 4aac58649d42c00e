"""Explains a failed call to the control plane to a person: it was refused, or nobody answered."""

from datetime import UTC, datetime, timedelta

from temporalio import exceptions
from temporalio.api.enums.v1 import TaskQueueType
from temporalio.api.errordetails.v1 import NamespaceNotFoundFailure
from temporalio.api.taskqueue.v1 import TaskQueue
from temporalio.api.workflowservice.v1 import DescribeTaskQueueRequest
from temporalio.client import (
    ActivityFailureError,
    Client,
    WorkflowQueryFailedError,
    WorkflowUpdateFailedError,
)
from temporalio.exceptions import ApplicationError
from temporalio.service import RPCError, RPCStatusCode

from client.errors import Away, Refused
from client.stuck import stuck_if_asked
from client.updates import was_put_back
from contracts.errors import Unreachable
from contracts.names import CONTROL_QUEUE
from wire.connection import TemporalAddress

ANSWER = timedelta(seconds=10)
"""How long a person waits for a control worker's answer."""
POLLS_AT_LEAST = timedelta(seconds=90)
"""A worker polls at least once a minute, since a poll that finds nothing ends after that time."""

UNKNOWN_ACTIVITY = "NotFoundError"
"""The error type by which the SDK's worker refuses an activity that it does not know."""

ACTIVITIES = TaskQueueType.TASK_QUEUE_TYPE_ACTIVITY
WORKFLOWS = TaskQueueType.TASK_QUEUE_TYPE_WORKFLOW

_OUTAGES = frozenset(
    {
        RPCStatusCode.UNAVAILABLE,
        RPCStatusCode.DEADLINE_EXCEEDED,
        RPCStatusCode.CANCELLED,
        # The client reports a connection that broke in the middle of a call as this.
        RPCStatusCode.UNKNOWN,
    }
)


class NoSuchRun(Refused):
    """No workflow has this id, or it has ended and takes no more updates."""

    def __init__(self, workflow_id: str, message: str) -> None:
        super().__init__(message)
        self.workflow_id = workflow_id


class NotOffered(Refused):
    """The server does not support this kind of call."""


_NO_POLLER = "no poller seen"
"""Temporal's answer to a query while no worker polls."""


class Refusals:
    """Turns the errors of one connection into sentences."""

    def __init__(self, where: TemporalAddress, client: Client) -> None:
        self._where = where
        self._client = client

    async def of_call(
        self, error: RPCError, workflow_id: str, *, sent: bool = False
    ) -> Refused | Away:
        """Explains a call that Temporal refused, or did not answer.

        Args:
            error: What the SDK raised.
            workflow_id: The workflow that the call was about.
            sent: The call changes something, and may still do so.
        """
        if is_outage(error):
            return await self.of_silence(workflow_id, sent=sent)
        if error.status == RPCStatusCode.FAILED_PRECONDITION:
            return await self._of_precondition(error, workflow_id)
        if error.status == RPCStatusCode.UNIMPLEMENTED:
            return NotOffered(
                f"Temporal at {self._where.address} does not support this: {error.message}"
            )
        if error.status != RPCStatusCode.NOT_FOUND:
            return Refused(f"Temporal at {self._where.address} refuses this: {error.message}")
        if _lacks_namespace(error):
            return Away(
                f"Temporal at {self._where.address} has no namespace {self._where.namespace!r}; "
                "name another with TEMPORAL_NAMESPACE."
            )
        return await self.of_ended(workflow_id)

    async def of_ended(self, workflow_id: str) -> NoSuchRun:
        """Explains a message to a run that has ended, or that never existed."""
        return NoSuchRun(workflow_id, await self._why_not_there(workflow_id))

    async def _of_precondition(self, error: RPCError, workflow_id: str) -> Refused | Away:
        """Explains a query that nobody could answer (no worker polls, or the run never began), and
        an update that was put back each time it was sent.
        """
        polled = await last_poll(self._client, CONTROL_QUEUE, WORKFLOWS)
        if polled is None:
            return Away(self._no_control_worker())
        if _NO_POLLER in error.message:
            return Away(
                f"The control workers at {self._where.address} have only just come back; try again."
            )
        stuck = await stuck_if_asked(self._client, workflow_id)
        if stuck:
            return Refused(stuck)
        if was_put_back(error):
            return Away(
                f"{workflow_id} takes no update now: its workflow tasks fail. Its history in the "
                "Temporal UI and the log of the control worker show why. Nothing was done."
            )
        return Refused(f"{workflow_id} cannot be asked: {error.message}")

    async def of_silence(self, workflow_id: str, *, sent: bool = False) -> Refused | Away:
        """Explains a call that nobody answered in time; the arguments are those of `of_call`."""
        try:
            polled = await last_poll(self._client, CONTROL_QUEUE, WORKFLOWS)
        except RPCError:
            return Away(nobody_there(self._where))
        yet = " What was sent may still be done: check with `exclave status`." if sent else ""
        if polled is None or datetime.now(UTC) - polled > POLLS_AT_LEAST:
            return Away(self._no_control_worker() + yet)
        stuck = await stuck_if_asked(self._client, workflow_id)
        if stuck:
            return Refused(stuck + yet)
        return Away(
            f"{workflow_id} does not answer within {ANSWER.total_seconds():.0f} s. Either the "
            "control workers went down a moment ago, or something that it needs does not answer; "
            f"the Temporal UI shows what the workflow waits for.{yet}"
        )

    async def _why_not_there(self, workflow_id: str) -> str:
        try:
            handle = self._client.get_workflow_handle(workflow_id)
            described = await handle.describe(rpc_timeout=ANSWER)
        except RPCError:
            return f"There is no run {workflow_id!r}."
        how = described.status.name.lower().replace("_", " ") if described.status else "ended"
        return f"{workflow_id} has ended ({how}) and takes no more messages."

    def _no_control_worker(self) -> str:
        return (
            f"No control worker serves {self._where.address} (namespace {self._where.namespace}). "
            "Start one, or look at the log of `exclave dev`."
        )


def is_outage(error: RPCError) -> bool:
    """Whether the same call may succeed later."""
    return error.status in _OUTAGES


def nobody_there(where: TemporalAddress) -> str:
    """The message that Temporal does not answer."""
    return (
        f"Temporal at {where.address} (namespace {where.namespace}) does not answer. Start the "
        "development control plane with `exclave dev`, or name another server with "
        "TEMPORAL_ADDRESS and TEMPORAL_NAMESPACE."
    )


async def last_poll(client: Client, queue: str, kind: "TaskQueueType.ValueType") -> datetime | None:
    """When a worker last polled a queue; None if none did within the last minutes.

    Raises:
        RPCError: Temporal does not answer.
    """
    request = DescribeTaskQueueRequest(
        namespace=client.namespace, task_queue=TaskQueue(name=queue), task_queue_type=kind
    )
    described = await client.workflow_service.describe_task_queue(request, timeout=ANSWER)
    times = [one.last_access_time.ToDatetime(UTC) for one in described.pollers]
    return max(times, default=None)


def of_message(error: WorkflowUpdateFailedError | WorkflowQueryFailedError) -> Refused | Away:
    """Explains an update or a query that the workflow answered with an error."""
    cause = error.__cause__
    return _of_cause(cause or error)


def of_activity(error: ActivityFailureError, whose: str) -> Refused | Away:
    """Explains the failure of a standalone activity."""
    cause = error.__cause__
    if isinstance(cause, exceptions.TimeoutError):
        return Away(f"{whose} is away, or too busy to answer. Start it, and try again.")
    if isinstance(cause, ApplicationError) and cause.type == UNKNOWN_ACTIVITY:
        return Refused(f"{whose} is older than this command, and cannot do that yet. Upgrade it.")
    return _of_cause(cause or error)


def _of_cause(cause: BaseException) -> Refused | Away:
    if not isinstance(cause, ApplicationError):
        return Refused(str(cause))
    indented = cause.message.replace("\n", "\n  ")
    return Away(indented) if cause.type == Unreachable.__name__ else Refused(indented)


def _lacks_namespace(error: RPCError) -> bool:
    return any(
        detail.Is(NamespaceNotFoundFailure.DESCRIPTOR) for detail in error.grpc_status.details
    )
