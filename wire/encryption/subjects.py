"""The subject of a payload: whom it belongs to, which determines its key.

- `install/<install>`: what an install's worker may read
- `app/<app>`: builds and rollouts
- `build`: inputs and answers of the org's build workers
- `access`: what gateways read to know which workers may pass
- `org`: everything else: workflow ids of another form, and what a person sends through the codec
  server, which does not know the workflow
"""

import re
from typing import Final

from temporalio.converter import (
    ActivitySerializationContext,
    SerializationContext,
    WorkflowSerializationContext,
)

from contracts.names import BUILD_QUEUE, CONTROL_QUEUE, NAME_PATTERN, install_queue, owner_of

ACCESS: Final = "access"
"""The org's gateways have its key, besides the control side."""
BUILD: Final = "build"
"""The org's build workers have its key. The Build workflow's own payloads belong to the app, and no
worker can read them."""
ORG: Final = "org"
"""Only the control side has its key."""

_OF_APPS = frozenset({"build", "rollout"})
"""Kinds of workflows whose id names an app in its second segment; all others name an install."""
_NAME = re.compile(NAME_PATTERN)
_INSTALL_QUEUE = re.compile(re.escape(install_queue("")) + "(.+)")


def install_subject(install: str) -> str:
    """The subject of an install."""
    return f"install/{install}"


def subject_of_workflow(workflow_id: str) -> str:
    """The subject of a workflow's payloads, from the first two segments of its id."""
    owner = owner_of(workflow_id)
    if owner is None or not _NAME.fullmatch(owner[1]):
        return ORG
    kind, name = owner
    if kind == ACCESS:
        # Its second segment is the org; an install with the same name must not read it.
        return ACCESS
    return f"app/{name}" if kind in _OF_APPS else install_subject(name)


def subject_of(context: SerializationContext | None) -> str | None:
    """The subject of a payload, from the context that the SDK gives; None if that is unknown.

    It is unknown for a memo that is read without its workflow, and for the result of a standalone
    activity, of which the client knows only the id.
    """
    if isinstance(context, WorkflowSerializationContext):
        return subject_of_workflow(context.workflow_id)
    if isinstance(context, ActivitySerializationContext):
        return _subject_of_activity(context)
    return None


def comes_from_a_worker(context: SerializationContext | None) -> bool:
    """Whether a payload that the control side reads here is a worker's answer.

    Only its worker reads such an activity's input, so it must be a result, or details of a failure
    or heartbeat. Activities on the control side itself are excluded: people may send them input.
    """
    return (
        isinstance(context, ActivitySerializationContext)
        and context.activity_task_queue != CONTROL_QUEUE
        and not context.is_local
    )


def is_without_workflow(context: SerializationContext | None) -> bool:
    """Whether it belongs to a standalone activity."""
    return isinstance(context, ActivitySerializationContext) and not context.workflow_id


def places_of(context: SerializationContext | None) -> tuple[str, str]:
    """The places of the input and of the answer of a worker's activity, as unique names; empty if
    the payload does not belong to one."""
    if not isinstance(context, ActivitySerializationContext):
        return "", ""
    queue = context.activity_task_queue
    theirs = queue == BUILD_QUEUE or (queue and _INSTALL_QUEUE.fullmatch(queue))
    if not theirs:
        return "", ""
    of = f"of {context.workflow_id}" if context.workflow_id else f"alone as {context.activity_id}"
    asked = f"{context.activity_type} {of}"
    return asked, f"{asked}, answered"


def _subject_of_activity(context: ActivitySerializationContext) -> str | None:
    queue = context.activity_task_queue
    install = _INSTALL_QUEUE.fullmatch(queue) if queue else None
    if install is not None and _NAME.fullmatch(install[1]):
        return install_subject(install[1])
    if queue == BUILD_QUEUE:
        return BUILD
    if context.workflow_id:
        return subject_of_workflow(context.workflow_id)
    return ORG if queue else None
