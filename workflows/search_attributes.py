"""Whose run a workflow is, and how the UI finds it: its id, and its search attributes."""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager

from temporalio import workflow
from temporalio.common import (
    SearchAttributeKey,
    SearchAttributePair,
    SearchAttributeUpdate,
    TypedSearchAttributes,
)
from temporalio.exceptions import is_cancelled_exception

from contracts.errors import BadInput
from contracts.names import (
    ATTRIBUTE_APP,
    ATTRIBUTE_COMPONENT,
    ATTRIBUTE_INSTALL,
    ATTRIBUTE_RELEASE,
    ATTRIBUTE_STATUS,
    is_id,
    owner_of,
)

APP = SearchAttributeKey.for_keyword(ATTRIBUTE_APP)
INSTALL = SearchAttributeKey.for_keyword(ATTRIBUTE_INSTALL)
RELEASE = SearchAttributeKey.for_keyword(ATTRIBUTE_RELEASE)
COMPONENT = SearchAttributeKey.for_keyword(ATTRIBUTE_COMPONENT)
STATUS = SearchAttributeKey.for_keyword(ATTRIBUTE_STATUS)

_KEYS = {
    "app": APP,
    "install": INSTALL,
    "release": RELEASE,
    "component": COMPONENT,
    "status": STATUS,
}


def require_id(kind: str, owner: str, rest: str = "…") -> None:
    """Refuse a run whose id does not name its owner: keys and turns are chosen by the id.

    Raises:
        BadInput: with the id that would be right.
    """
    workflow_id = workflow.info().workflow_id
    if owner_of(workflow_id) != (kind, owner):
        wanted = "/".join(part for part in (kind, owner, rest) if part)
        raise BadInput(
            f"The workflow id {workflow_id!r} does not belong to its input; name it {wanted!r}."
        )
    # Asked in this order: a run with a right id has no marker of the patch.
    if not is_id(workflow_id) and workflow.patched("an-id-can-be-shown"):
        raise BadInput(
            f"The workflow id {workflow_id!a} cannot be shown as it is; name it with ASCII "
            "letters, digits and `._:@+=~/-`, at most 255 in all."
        )


def show(**values: str | None) -> None:
    """Set search attributes (app, install, release, component, status), so that the UI can find
    the run. An empty text unsets one; None leaves it as it is.
    """
    updates: list[SearchAttributeUpdate[str]] = [
        _KEYS[name].value_set(value) if value else _KEYS[name].value_unset()
        for name, value in values.items()
        if value is not None
    ]
    workflow.upsert_search_attributes(updates)


def shown_from_the_start(**values: str) -> TypedSearchAttributes:
    """The search attributes to start a run with: it can be found before its first task is done."""
    pairs = [SearchAttributePair(_KEYS[name], value) for name, value in values.items()]
    return TypedSearchAttributes(pairs)


def show_at_first(**values: str) -> None:
    """As `show`, but nothing is written of a run that was started with all of these."""
    started_with = workflow.info().typed_search_attributes
    if any(started_with.get(_KEYS[name]) != value for name, value in values.items()):
        show(**values)


@contextmanager
def showing_its_end() -> Iterator[None]:
    """Let the status say that the run failed or was cancelled, if it does."""
    try:
        yield
    except (Exception, asyncio.CancelledError) as error:
        cancelled = workflow.cancellation_reason() is not None and is_cancelled_exception(error)
        show(status="cancelled" if cancelled else "failed")
        raise
