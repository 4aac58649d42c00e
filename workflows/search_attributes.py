"""The id that ties a workflow to its owner, and the search attributes that the UI finds it by."""

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
    """Refuse a run whose id does not name its owner, since keys and turns are chosen by the id.

    Raises:
        BadInput: with an id that would be right.
    """
    workflow_id = workflow.info().workflow_id
    if owner_of(workflow_id) != (kind, owner):
        wanted = "/".join(part for part in (kind, owner, rest) if part)
        raise BadInput(
            f"The workflow id {workflow_id!r} does not match its input; name it {wanted!r}."
        )
    # In this order, a run with a right id gets no marker of the patch.
    if not is_id(workflow_id) and workflow.patched("an-id-can-be-shown"):
        raise BadInput(
            f"The workflow id {workflow_id!a} has characters that cannot be shown; use ASCII "
            "letters, digits and `._:@+=~/-`, at most 255 characters in all."
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
    """Search attributes to start a run with, so that it can be found before its first task ends."""
    pairs = [SearchAttributePair(_KEYS[name], value) for name, value in values.items()]
    return TypedSearchAttributes(pairs)


def show_at_first(**values: str) -> None:
    """As `show`, but writes nothing if the run was started with all of these values."""
    started_with = workflow.info().typed_search_attributes
    if any(started_with.get(_KEYS[name]) != value for name, value in values.items()):
        show(**values)


@contextmanager
def showing_its_end() -> Iterator[None]:
    """Set the status to failed or cancelled if the run ends so."""
    try:
        yield
    except (Exception, asyncio.CancelledError) as error:
        cancelled = workflow.cancellation_reason() is not None and is_cancelled_exception(error)
        show(status="cancelled" if cancelled else "failed")
        raise
