"""Runs that are stuck: their workflow tasks fail again and again, so that they do not go on.

Temporal tries such a task again without end, and shows the run as running. It goes on by itself
once the cause is mended, which may take a new version of the control workers.
"""

from temporalio.api.common.v1 import WorkflowExecution
from temporalio.api.enums.v1 import EventType
from temporalio.api.workflowservice.v1 import GetWorkflowExecutionHistoryReverseRequest
from temporalio.client import Client, WorkflowExecutionDescription
from temporalio.service import RPCError

from apps.display_text import shown
from client.history import failure_words
from wire.encryption.plain_text import plain_text

STUCK_ATTEMPTS = 3
"""From the third attempt on: one that failed once or twice may have met a worker that just died."""
_NEWEST = 20
"""Among so many of the newest events is the failure: a task that fails again writes no more."""


def attempts_of(description: WorkflowExecutionDescription) -> int:
    """How often the run's present workflow task was tried, if it is stuck in it; else 0."""
    attempt = description.raw_description.pending_workflow_task.attempt
    return attempt if attempt >= STUCK_ATTEMPTS else 0


async def why_stuck(client: Client, description: WorkflowExecutionDescription) -> str:
    """What a stuck run is stuck in, and what to do; empty where it is not stuck.

    Raises:
        RPCError: Temporal does not answer.
    """
    attempts = attempts_of(description)
    if not attempts:
        return ""
    reason = await _reason(client, description)
    return (
        f"{description.id} is stuck: its workflow task fails again and again (attempt {attempts})"
        f"{f': {reason}' if reason else ''}\n"
        "It goes on by itself once the cause is mended; the log of the control workers tells "
        "more. To give it up, and leave what its tools do as it is: temporal workflow terminate "
        f"--workflow-id {description.id} --reason 'it is stuck'"
    )


async def stuck_if_asked(client: Client, workflow_id: str, run_id: str = "") -> str:
    """As `why_stuck`, of a run by its id; empty where Temporal does not answer, too."""
    try:
        handle = client.get_workflow_handle(workflow_id, run_id=run_id or None)
        return await why_stuck(client, await handle.describe())
    except RPCError:
        return ""


async def _reason(client: Client, description: WorkflowExecutionDescription) -> str:
    request = GetWorkflowExecutionHistoryReverseRequest(
        namespace=client.namespace,
        execution=WorkflowExecution(workflow_id=description.id, run_id=description.run_id),
        maximum_page_size=_NEWEST,
    )
    found = await client.workflow_service.get_workflow_execution_history_reverse(request)
    for event in found.history.events:
        if event.event_type == EventType.EVENT_TYPE_WORKFLOW_TASK_FAILED:
            plain = await plain_text(client, event)
            # Within one line: it may be anybody's.
            return shown(failure_words(plain.workflow_task_failed_event_attributes.failure))
        if event.event_type == EventType.EVENT_TYPE_WORKFLOW_TASK_TIMED_OUT:
            return "no control worker answers it in time"
    return ""
