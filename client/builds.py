"""The state of builds: which are running, what they wait for, and which failed."""

import asyncio
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from temporalio.api.enums.v1 import PendingActivityState
from temporalio.api.workflow.v1 import PendingActivityInfo
from temporalio.client import WorkflowExecution, WorkflowExecutionStatus, WorkflowFailureError
from temporalio.common import SearchAttributeKey
from temporalio.exceptions import ApplicationError
from temporalio.service import RPCError

from client.control_plane import ControlPlane
from client.refusals import ANSWER, POLLS_AT_LEAST
from contracts.names import ATTRIBUTE_APP, ATTRIBUTE_STATUS, BUILD_QUEUE

_LOOKED_AT = 50
"""How many builds are examined, newest first; older ones say nothing about the present."""
_SHOWN_FOR = timedelta(days=1)
"""How long a failed build is shown, unless its app was built again."""

_BAD_ENDS = frozenset(
    {
        WorkflowExecutionStatus.FAILED,
        WorkflowExecutionStatus.TERMINATED,
        WorkflowExecutionStatus.TIMED_OUT,
    }
)


@dataclass(frozen=True)
class BuildNow:
    """A build that is running, or that failed."""

    workflow_id: str
    app: str
    status: str
    words: str = ""
    """What it waits for, or why it failed."""


async def builds_now(plane: ControlPlane, app: str | None = None) -> list[BuildNow]:
    """The running builds, and each app's newest build if it failed; newest first.

    Raises:
        Away: Temporal does not answer.
    """
    query = "WorkflowType = 'Build'" + (f" AND {ATTRIBUTE_APP} = '{app}'" if app else "")
    found, polled = await asyncio.gather(plane.find(query, _LOOKED_AT), plane.polled(BUILD_QUEUE))
    is_served = polled is not None and datetime.now(UTC) - polled < POLLS_AT_LEAST
    looks, apps = [], set[str]()
    for one in found:
        if one.status == WorkflowExecutionStatus.RUNNING:
            looks.append(_at_work(plane, one, is_served))
        elif one.status in _BAD_ENDS and _app_of(one) not in apps and _is_fresh(one):
            looks.append(_failed(plane, one))
        apps.add(_app_of(one))
    return list(await asyncio.gather(*looks))


async def _at_work(plane: ControlPlane, found: WorkflowExecution, is_served: bool) -> BuildNow:
    words = ""
    try:
        handle = plane.run(found.id, found.run_id)
        described = await handle.describe(rpc_timeout=ANSWER)
        raw = await plane.plain_text(described.raw_description)
        words = _waits_for(list(raw.pending_activities), is_served)
    except RPCError:
        # It has ended meanwhile, or Temporal is busy: show what is known without it.
        words = ""
    return BuildNow(found.id, _app_of(found), _shown(found, ATTRIBUTE_STATUS), words)


def _waits_for(pending: list[PendingActivityInfo], is_served: bool) -> str:
    again = next((one for one in pending if one.attempt > 1 and one.HasField("last_failure")), None)
    if again is not None:
        return f"tried {again.attempt} times: {again.last_failure.message}"
    waiting = PendingActivityState.PENDING_ACTIVITY_STATE_SCHEDULED
    if not is_served and any(one.state == waiting for one in pending):
        return "waits for a build worker: none asks for work"
    return ""


async def _failed(plane: ControlPlane, found: WorkflowExecution) -> BuildNow:
    words = ""
    try:
        await plane.run(found.id, found.run_id).result(rpc_timeout=ANSWER)
    except WorkflowFailureError as error:
        cause = error.cause
        words = cause.message if isinstance(cause, ApplicationError) else str(cause)
    except RPCError:
        words = ""
    return BuildNow(found.id, _app_of(found), "failed", words)


def _is_fresh(found: WorkflowExecution) -> bool:
    return found.close_time is not None and datetime.now(UTC) - found.close_time < _SHOWN_FOR


def _app_of(found: WorkflowExecution) -> str:
    return found.id.split("/")[1] if found.id.count("/") else ""


def _shown(found: WorkflowExecution, attribute: str) -> str:
    return found.typed_search_attributes.get(SearchAttributeKey.for_keyword(attribute)) or ""
