"""Whose payload it is: the subject, which chooses the key.

`install/<install>` is what an install's worker may read, `app/<app>` what belongs to builds and
rollouts, `build` what an org's build workers are told and answer, `access` what gateways read to
know who may pass, and `org` what belongs to none of these: a workflow id of another form, and what
a person sends through the codec server, who names no workflow there.
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
"""What an org's gateways have a key for, besides the control side."""
BUILD: Final = "build"
"""What the org's build workers have a key for. The Build workflow's own payloads are the app's, and
no worker's to read."""
ORG: Final = "org"
"""Only the control side has its key."""

_OF_APPS = frozenset({"build", "rollout"})
"""Kinds of workflows whose second segment is an app; that of every other is an install."""
_NAME = re.compile(NAME_PATTERN)
_INSTALL_QUEUE = re.compile(re.escape(install_queue("")) + "(.+)")


def install_subject(install: str) -> str:
    """The subject of an install."""
    return f"install/{install}"


def subject_of_workflow(workflow_id: str) -> str:
    """Whose the payloads of a workflow are: the first two segments of its id say it."""
    owner = owner_of(workflow_id)
    if owner is None or not _NAME.fullmatch(owner[1]):
        return ORG
    kind, name = owner
    if kind == ACCESS:
        # Its second segment is the org: an install of the same name must not read it.
        return ACCESS
    return f"app/{name}" if kind in _OF_APPS else install_subject(name)


def subject_of(context: SerializationContext | None) -> str | None:
    """Whose a payload is, by what the SDK says of where it belongs; None where that is not known.

    It is not known for a memo that is looked at without its workflow, and for the result of an
    activity that was started without a workflow: of that the client knows the id alone.
    """
    if isinstance(context, WorkflowSerializationContext):
        return subject_of_workflow(context.workflow_id)
    if isinstance(context, ActivitySerializationContext):
        return _subject_of_activity(context)
    return None


def comes_from_a_worker(context: SerializationContext | None) -> bool:
    """Whether the control side reads here what a worker answered, and not what a person sent.

    What such an activity was told is read by its worker alone, so it is a result, the details of a
    failure or of a heartbeat. What runs on the control side itself is told of by people, too.
    """
    return (
        isinstance(context, ActivitySerializationContext)
        and context.activity_task_queue != CONTROL_QUEUE
        and not context.is_local
    )


def is_without_workflow(context: SerializationContext | None) -> bool:
    """Whether it belongs to an activity that was started by itself."""
    return isinstance(context, ActivitySerializationContext) and not context.workflow_id


def places_of(context: SerializationContext | None) -> tuple[str, str]:
    """What an activity of a worker is told, and what it answers, by names of the two that occur
    once; empty where the payload is of none."""
    if not isinstance(context, ActivitySerializationContext):
        return "", ""
    queue = context.activity_task_queue
    theirs = queue == BUILD_QUEUE or (queue and _INSTALL_QUEUE.fullmatch(queue))
    if not theirs:
        return "", ""
    of = f"of {context.workflow_id}" if context.workflow_id else f"alone as {context.activity_id}"
    told = f"{context.activity_type} {of}"
    return told, f"{told}, answered"


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
