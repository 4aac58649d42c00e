"""Whose run a workflow is: its id must begin with its kind and its owner."""

from temporalio import workflow
from temporalio.common import SearchAttributeKey, SearchAttributePair

from contracts.errors import BadInput
from contracts.names import (
    ATTRIBUTE_APP,
    ATTRIBUTE_INSTALL,
    ATTRIBUTE_RELEASE,
    ATTRIBUTE_STATUS,
    owner_of,
)

APP = SearchAttributeKey.for_keyword(ATTRIBUTE_APP)
INSTALL = SearchAttributeKey.for_keyword(ATTRIBUTE_INSTALL)
RELEASE = SearchAttributeKey.for_keyword(ATTRIBUTE_RELEASE)
STATUS = SearchAttributeKey.for_keyword(ATTRIBUTE_STATUS)


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


def show(**values: str | None) -> None:
    """Set search attributes (app, install, release, status), so that the UI can find the run."""
    keys = {"app": APP, "install": INSTALL, "release": RELEASE, "status": STATUS}
    pairs: list[SearchAttributePair[str]] = [
        SearchAttributePair(keys[name], value) for name, value in values.items() if value
    ]
    workflow.upsert_search_attributes(pairs)  # type: ignore[arg-type] # Sequence is invariant there
