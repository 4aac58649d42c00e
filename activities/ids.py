"""Checks the ids that an install worker receives. They are written to its audit log, process log
and store, and shown to people, so ids with characters that cannot be shown are refused."""

from collections.abc import Iterable, Sequence
from typing import Any

from temporalio import activity

from contracts.errors import BadInput
from contracts.names import is_id
from store.object_keys import is_key


def require_ids(arguments: Sequence[Any]) -> None:
    """Refuse invalid ids, both of the running activity and in its arguments.

    Raises:
        BadInput: an id is invalid; the message names the first one.
    """
    for what, text in _ids():
        if not is_id(text):
            raise BadInput(f"The {what} {text!a} is invalid: it could not be shown as it is.")
    for argument in arguments:
        turn = getattr(argument, "turn", None)
        if turn is not None and turn.workflow_id and not is_id(turn.workflow_id):
            raise BadInput(f"The turn's workflow id {turn.workflow_id!a} is invalid.")
        for name in ("key", "plan_key", "subject"):
            key = getattr(argument, name, None)
            if isinstance(key, str) and not is_key(key):
                raise BadInput(f"The {name} {key!a} is not one that an operation could have.")


def _ids() -> Iterable[tuple[str, str]]:
    if activity.in_activity():
        info = activity.info()
        yield "activity's id", info.activity_id
        if info.workflow_id:
            yield "workflow id", info.workflow_id
