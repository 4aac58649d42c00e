"""Reads from a workflow's history when things happened, by the server's clock."""

import json
from collections.abc import AsyncIterator, Iterable
from dataclasses import dataclass
from typing import Any

from temporalio.api.common.v1 import Payloads
from temporalio.api.enums.v1 import EventType
from temporalio.api.history.v1 import HistoryEvent
from temporalio.client import WorkflowHandle


@dataclass(frozen=True)
class ActivityTimes:
    """When an activity was scheduled, when its last attempt started and ended; epoch seconds."""

    name: str
    scheduled: float
    started: float
    completed: float
    attempt: int
    """The number of the last attempt, from 1."""
    input: dict[str, Any]
    """Its input; empty if it has none."""

    @property
    def seconds(self) -> float:
        """From scheduled to completed."""
        return self.completed - self.scheduled


@dataclass(frozen=True)
class FirstSteps:
    """The steps of a workflow from its start to its first activity, in seconds."""

    started: float
    """Epoch seconds."""
    to_workflow_task: float
    """Until a worker had taken the first workflow task."""
    in_workflow_task: float
    """Until that task was answered, local activities included."""
    to_activity: float
    """From there until a worker had taken the first activity."""

    @property
    def seconds(self) -> float:
        """From the workflow's start to the first activity running."""
        return self.to_workflow_task + self.in_workflow_task + self.to_activity


def at(event: HistoryEvent) -> float:
    """The event's time, epoch seconds."""
    return event.event_time.seconds + event.event_time.nanos / 1e9


def activities(events: Iterable[HistoryEvent]) -> list[ActivityTimes]:
    """The activities that completed, in the order in which they were scheduled."""
    by_id = {event.event_id: event for event in events}
    found = []
    for event in by_id.values():
        if event.event_type != EventType.EVENT_TYPE_ACTIVITY_TASK_COMPLETED:
            continue
        ids = event.activity_task_completed_event_attributes
        scheduled, started = by_id[ids.scheduled_event_id], by_id[ids.started_event_id]
        asked = scheduled.activity_task_scheduled_event_attributes
        found.append(
            ActivityTimes(
                name=asked.activity_type.name,
                scheduled=at(scheduled),
                started=at(started),
                completed=at(event),
                attempt=started.activity_task_started_event_attributes.attempt,
                input=_input(asked.input),
            )
        )
    return sorted(found, key=lambda one: one.scheduled)


def _input(given: Payloads) -> dict[str, Any]:
    data = given.payloads[0].data if given.payloads else b""
    found: dict[str, Any] = json.loads(data) if data else {}
    return found


async def completed_activities(workflow: WorkflowHandle[Any, Any]) -> AsyncIterator[str]:
    """The names of a workflow's activities, each as soon as it has completed."""
    scheduled: dict[int, str] = {}
    async for event in workflow.fetch_history_events(wait_new_event=True):
        if event.event_type == EventType.EVENT_TYPE_ACTIVITY_TASK_SCHEDULED:
            attributes = event.activity_task_scheduled_event_attributes
            scheduled[event.event_id] = attributes.activity_type.name
        elif event.event_type == EventType.EVENT_TYPE_ACTIVITY_TASK_COMPLETED:
            yield scheduled[event.activity_task_completed_event_attributes.scheduled_event_id]


def first_steps(events: Iterable[HistoryEvent], activity: str) -> FirstSteps:
    """How a workflow got to its first activity, which must be the named one."""
    all_events = list(events)
    first = activities(all_events)[0]
    if first.name != activity:
        raise ValueError(f"the first activity is {first.name}, not {activity}")
    begun = start_of(all_events)
    taken = at(_first(all_events, EventType.EVENT_TYPE_WORKFLOW_TASK_STARTED))
    return FirstSteps(
        begun, taken - begun, first.scheduled - taken, first.started - first.scheduled
    )


def accepted_updates(events: Iterable[HistoryEvent]) -> dict[str, float]:
    """When each update was accepted, by its id; epoch seconds."""
    return {
        event.workflow_execution_update_accepted_event_attributes.protocol_instance_id: at(event)
        for event in events
        if event.event_type == EventType.EVENT_TYPE_WORKFLOW_EXECUTION_UPDATE_ACCEPTED
    }


def start_of(events: Iterable[HistoryEvent]) -> float:
    """When the workflow started; epoch seconds."""
    return at(_first(events, EventType.EVENT_TYPE_WORKFLOW_EXECUTION_STARTED))


def end_of(events: Iterable[HistoryEvent]) -> float:
    """When the workflow completed; epoch seconds."""
    return at(_first(events, EventType.EVENT_TYPE_WORKFLOW_EXECUTION_COMPLETED))


def _first(events: Iterable[HistoryEvent], kind: EventType.ValueType) -> HistoryEvent:
    return next(event for event in events if event.event_type == kind)
