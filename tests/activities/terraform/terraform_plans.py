"""Plans as Terraform 1.11 printed them, and changes made by hand."""

from pathlib import Path
from typing import Any

from activities.terraform.changes import Change, Changes, read_changes

PLANS = Path(__file__).parent / "plans"
NAMES = sorted(path.stem for path in PLANS.glob("*.json"))
SECRET = "hunter2"
"""Every sensitive value in the plans begins with it, or is `other-secret-1`."""


def plan(name: str) -> bytes:
    return (PLANS / f"{name}.json").read_bytes()


def changes(name: str) -> Changes:
    return read_changes(plan(name))


def change(actions: str = "create", **fields: Any) -> Change:
    """A change of one object; `actions` by words."""
    base: dict[str, Any] = {
        "address": "terraform_data.one", "before": None, "after": None, "unknown": {},
    }  # fmt: skip
    return Change(actions=tuple(actions.split()), **base | fields)


def objects(*found: Change) -> Changes:
    return Changes(tuple(found), ())
