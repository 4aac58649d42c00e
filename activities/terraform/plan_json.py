"""Reads a Terraform plan's changes from `terraform show -json`.

The format: Terraform's documentation, "JSON Output Format", plan representation, format version 1.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from activities.plans.changes import QUIET, Change, Changes
from activities.plans.plan_store import PlanFormat
from activities.terraform.marks import by_address, of_plan
from contracts.errors import EngineFailed

PLAN_FILE = "terraform.tfplan"
"""The file that `terraform plan -out` writes."""


@dataclass(frozen=True)
class TerraformChanges(Changes):
    """A plan's changes, with what only Terraform's plans have."""

    marks: Mapping[str, list[object]] = field(default_factory=dict, compare=False, repr=False)
    """Which parts of each object the plan marks as sensitive, by address."""
    declared: Mapping[str, bool] = field(default_factory=dict, compare=False, repr=False)
    """The module's outputs by name, and whether each is declared sensitive."""


def read_changes(plan: bytes) -> TerraformChanges:
    """Read `terraform show -json` of a saved plan.

    Raises:
        EngineFailed: it does not have the form that Terraform documents, or it invokes actions.
    """
    try:
        document = json.loads(plan)
        objects = [_object(one) for one in document.get("resource_changes", []) if _matters(one)]
        outputs = [
            _output(name, one)
            for name, one in document.get("output_changes", {}).items()
            if set(one["actions"]) != {"no-op"}
        ]
        secrets, marks = tuple(of_plan(document)), by_address(document)
        module = document.get("configuration", {}).get("root_module", {})
        declared = {
            name: bool(one.get("sensitive", False))
            for name, one in module.get("outputs", {}).items()
        }
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise EngineFailed(
            f"`terraform show -json` printed a plan in an unknown format "
            f"({type(error).__name__}). Is the Terraform on this worker newer than 1.x?"
        ) from None
    if document.get("action_invocations"):
        raise EngineFailed(
            "the module invokes actions (`action_trigger`, Terraform 1.14 and newer), which an "
            "approval does not cover yet. Remove them from the module, or use an older Terraform."
        )
    return TerraformChanges(
        tuple(sorted(objects, key=lambda one: (one.address, one.deposed or ""))),
        tuple(sorted(outputs, key=lambda one: one.address)),
        secrets,
        marks,
        declared,
    )


def _matters(entry: Mapping[str, Any]) -> bool:
    moves = entry.get("previous_address") not in (None, entry["address"])
    imports = "importing" in entry["change"]
    return moves or imports or set(entry["change"]["actions"]) not in QUIET


def _object(entry: Mapping[str, Any]) -> Change:
    change = entry["change"]
    previous = entry.get("previous_address")
    return Change(
        address=entry["address"],
        actions=tuple(change["actions"]),
        before=change.get("before"),
        after=change.get("after"),
        unknown=change.get("after_unknown", False),
        before_sensitive=change.get("before_sensitive", False),
        after_sensitive=change.get("after_sensitive", False),
        deposed=entry.get("deposed"),
        previous_address=previous if previous != entry["address"] else None,
        importing=json.dumps(change["importing"], sort_keys=True)
        if "importing" in change
        else None,
        reason=entry.get("action_reason"),
    )


def _output(name: str, change: Mapping[str, Any]) -> Change:
    return Change(
        address=name,
        actions=tuple(change["actions"]),
        before=change.get("before"),
        after=change.get("after"),
        unknown=change.get("after_unknown", False),
        before_sensitive=change.get("before_sensitive", False),
        after_sensitive=change.get("after_sensitive", False),
    )


SAVED = PlanFormat(PLAN_FILE, read_changes)
"""How Terraform's plans are saved in the store."""
