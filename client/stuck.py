"""Finds runs that are stuck because their workflow tasks keep failing.

Temporal retries such a task endlessly, and shows the run as running. The run goes on by itself once
the cause is fixed, which may take a new version of the control workers.
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
"""From this attempt on; a task that failed once or twice may just have met a dying worker."""
_NEWEST = 20
"""How many of the newest events to search for the failure; repeated failures write no events."""


def attempts_of(description: WorkflowExecutionDescription) -> int:
    """How often the run's current workflow task was tried, if the run is stuck; otherwise 0."""
    attempt = description.raw_description.pending_workflow_task.attempt
    return attempt if attempt >= STUCK_ATTEMPTS else 0


async def why_stuck(client: Client, description: WorkflowExecutionDescription) -> str:
    """Why a run is stuck, and what to do; empty if it is not stuck.

    Raises:
        RPCError: Temporal does not answer.
    """
    attempts = attempts_of(description)
    if not attempts:
        return ""
    reason = await _reason(client, description)
    return (
        f"{description.id} is stuck: its workflow task keeps failing (attempt {attempts})"
        f"{f': {reason}' if reason else ''}\n"
        "It goes on by itself once the cause is fixed; see the log of the control workers. To give "
        "the run up, without stopping its tools: temporal workflow terminate "
        f"--workflow-id {description.id} --reason 'it is stuck'"
    )


async def stuck_if_asked(client: Client, workflow_id: str, run_id: str = "") -> str:
    """Like `why_stuck`, for a workflow id; also empty if Temporal does not answer."""
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
            # On one line, since others may have chosen the text.
            return shown(failure_words(plain.workflow_task_failed_event_attributes.failure))
        if event.event_type == EventType.EVENT_TYPE_WORKFLOW_TASK_TIMED_OUT:
            return "no control worker answers it in time"
    return ""
