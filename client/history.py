"""Reads a run's history: the activities and runs that it started, and how each ended."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from temporalio.api.common.v1 import Payload, Payloads
from temporalio.api.enums.v1 import EventType
from temporalio.api.failure.v1 import Failure
from temporalio.api.history.v1 import HistoryEvent

_DONE = "done"
_FAILED = "failed"
_CANCELLED = "cancelled"
WORKING = "working"


@dataclass
class Work:
    """An activity, or a run that the followed run started and waits for."""

    name: str
    """As the Temporal UI shows it."""
    type: str
    """The activity's name, or the workflow's type."""
    queue: str = ""
    id: str = ""
    """The activity's id, which also identifies it among pending activities; or the workflow's."""
    input: Mapping[str, Any] = field(default_factory=dict)
    state: str = WORKING
    words: str = ""
    """Why it failed."""
    is_run: bool = False
    run_id: str = ""
    """For a run, once it has begun."""


@dataclass
class History:
    """The events of one run that were read so far."""

    seen: int = 0
    """The id of the newest event."""
    closed: bool = False
    continued_by: str = ""
    """The id of the run that it continued as."""
    _works: dict[int, Work] = field(default_factory=dict)
    """By the id of the event that began it."""

    @property
    def works(self) -> list[Work]:
        """All work, in the order in which it was begun."""
        return list(self._works.values())

    def take(self, events: Iterable[HistoryEvent]) -> bool:
        """Read the new ones among these events; returns whether there were any."""
        new = [event for event in events if event.event_id > self.seen]
        for event in new:
            self.seen = event.event_id
            self._take(event)
        return bool(new)

    def _take(self, event: HistoryEvent) -> None:
        kind = event.event_type
        if kind in _BEGINS:
            self._works[event.event_id] = _begun(event)
        elif kind == EventType.EVENT_TYPE_CHILD_WORKFLOW_EXECUTION_STARTED:
            begun = event.child_workflow_execution_started_event_attributes
            self._works[begun.initiated_event_id].run_id = begun.workflow_execution.run_id
        elif kind in _ENDS:
            work = self._works.get(_begin_of(event))
            if work is not None:
                work.state, work.words = _ENDS[kind], _words(event)
        elif kind == EventType.EVENT_TYPE_WORKFLOW_EXECUTION_CONTINUED_AS_NEW:
            continued = event.workflow_execution_continued_as_new_event_attributes
            self.continued_by = continued.new_execution_run_id
        elif kind in _CLOSES:
            self.closed = True


def _begun(event: HistoryEvent) -> Work:
    summary = _decoded(event.user_metadata.summary)
    if event.event_type == EventType.EVENT_TYPE_ACTIVITY_TASK_SCHEDULED:
        scheduled = event.activity_task_scheduled_event_attributes
        return Work(
            name=summary or scheduled.activity_type.name,
            type=scheduled.activity_type.name,
            queue=scheduled.task_queue.name,
            id=scheduled.activity_id,
            input=_first(scheduled.input),
        )
    started = event.start_child_workflow_execution_initiated_event_attributes
    return Work(
        name=summary or started.workflow_id,
        type=started.workflow_type.name,
        id=started.workflow_id,
        input=_first(started.input),
        is_run=True,
    )


def _begin_of(event: HistoryEvent) -> int:
    attributes = getattr(event, str(event.WhichOneof("attributes")))
    fields = attributes.DESCRIPTOR.fields_by_name
    name = "scheduled_event_id" if "scheduled_event_id" in fields else "initiated_event_id"
    return int(getattr(attributes, name))


def _words(event: HistoryEvent) -> str:
    attributes = getattr(event, str(event.WhichOneof("attributes")))
    failure = getattr(attributes, "failure", None)
    return failure_words(failure) if isinstance(failure, Failure) else ""


def failure_words(failure: Failure) -> str:
    """The innermost message of a failure; the outer ones only say that something failed."""
    while failure.HasField("cause"):
        failure = failure.cause
    return str(failure.message)


def failure_type(failure: Failure) -> str:
    """The type of the innermost failure; empty if it has none."""
    while failure.HasField("cause"):
        failure = failure.cause
    return str(failure.application_failure_info.type)


def _first(payloads: Payloads) -> Mapping[str, Any]:
    value = _decoded(payloads.payloads[0]) if payloads.payloads else None
    return value if isinstance(value, dict) else {}


def _decoded(payload: Payload) -> Any:
    """The value of a payload of plain JSON; None for any other encoding."""
    if payload.metadata.get("encoding") != b"json/plain":
        return None
    return json.loads(payload.data)


def heartbeat_words(details: Payloads) -> str:
    """The text of a pending activity's last heartbeat; empty if it is not text."""
    value = _decoded(details.payloads[0]) if details.payloads else None
    return value if isinstance(value, str) else ""


_BEGINS = frozenset(
    {
        EventType.EVENT_TYPE_ACTIVITY_TASK_SCHEDULED,
        EventType.EVENT_TYPE_START_CHILD_WORKFLOW_EXECUTION_INITIATED,
    }
)
_ENDS = {
    EventType.EVENT_TYPE_ACTIVITY_TASK_COMPLETED: _DONE,
    EventType.EVENT_TYPE_ACTIVITY_TASK_FAILED: _FAILED,
    EventType.EVENT_TYPE_ACTIVITY_TASK_TIMED_OUT: _FAILED,
    EventType.EVENT_TYPE_ACTIVITY_TASK_CANCELED: _CANCELLED,
    EventType.EVENT_TYPE_START_CHILD_WORKFLOW_EXECUTION_FAILED: _FAILED,
    EventType.EVENT_TYPE_CHILD_WORKFLOW_EXECUTION_COMPLETED: _DONE,
    EventType.EVENT_TYPE_CHILD_WORKFLOW_EXECUTION_FAILED: _FAILED,
    EventType.EVENT_TYPE_CHILD_WORKFLOW_EXECUTION_TIMED_OUT: _FAILED,
    EventType.EVENT_TYPE_CHILD_WORKFLOW_EXECUTION_TERMINATED: _FAILED,
    EventType.EVENT_TYPE_CHILD_WORKFLOW_EXECUTION_CANCELED: _CANCELLED,
}
_CLOSES = frozenset(
    {
        EventType.EVENT_TYPE_WORKFLOW_EXECUTION_COMPLETED,
        EventType.EVENT_TYPE_WORKFLOW_EXECUTION_FAILED,
        EventType.EVENT_TYPE_WORKFLOW_EXECUTION_TIMED_OUT,
        EventType.EVENT_TYPE_WORKFLOW_EXECUTION_CANCELED,
        EventType.EVENT_TYPE_WORKFLOW_EXECUTION_TERMINATED,
    }
)
