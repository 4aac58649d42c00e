"""Changes made by hand."""

from typing import Any

from activities.plans.changes import Change, Changes


def change(actions: str = "create", **fields: Any) -> Change:
    """A change of one object; `actions` by words."""
    base: dict[str, Any] = {
        "address": "terraform_data.one", "before": None, "after": None, "unknown": {},
    }  # fmt: skip
    return Change(actions=tuple(actions.split()), **base | fields)


def objects(*found: Change) -> Changes:
    return Changes(tuple(found), ())
