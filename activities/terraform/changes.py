"""What a Terraform plan would do, read from `terraform show -json`.

The format: Terraform's documentation, "JSON Output Format", plan representation, format version 1.
"""

import hashlib
import hmac
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from activities.terraform.marks import by_address, of_plan
from contracts.deploys import ChangeCounts
from contracts.errors import EngineFailed

_QUIET = ({"no-op"}, {"read"})
"""Actions that change nothing: a data source is read again in any case."""


@dataclass(frozen=True)
class Change:
    """One object, and what would happen to it."""

    address: str
    actions: tuple[str, ...]
    before: object
    after: object
    unknown: object
    """True, or the same shape as `after`, where a value will be known after the apply only."""
    before_sensitive: object = False
    after_sensitive: object = False
    deposed: str | None = None
    previous_address: str | None = None
    """The object moves: this is where it was."""
    importing: str | None = None
    """The object is imported under this id."""
    reason: str | None = None
    """For example `replace_because_tainted`."""

    @property
    def verb(self) -> str:
        """create, update, replace, delete, forget, or move where nothing else changes."""
        actions = set(self.actions)
        if {"create", "delete"} <= actions:
            return "replace"
        if actions in _QUIET:
            return "import" if self.importing else "move"
        return self.actions[0]


@dataclass(frozen=True)
class Changes:
    """A whole plan: objects by address, and the outputs that change."""

    objects: tuple[Change, ...]
    outputs: tuple[Change, ...]
    secrets: tuple[object, ...] = field(default=(), compare=False, repr=False)
    """What the plan marks as sensitive anywhere, also of objects that do not change."""
    marks: Mapping[str, list[object]] = field(default_factory=dict, compare=False, repr=False)
    """By address, which parts of an object the plan marks."""
    declared: Mapping[str, bool] = field(default_factory=dict, compare=False, repr=False)
    """The module's outputs by name, and whether each is declared sensitive."""

    @property
    def empty(self) -> bool:
        """Whether nothing would change."""
        return not self.objects and not self.outputs

    def counts(self) -> ChangeCounts:
        """How many objects are created, updated, replaced and deleted."""
        verbs = [change.verb for change in self.objects]
        return ChangeCounts(
            create=verbs.count("create") + verbs.count("import"),
            update=verbs.count("update") + verbs.count("move"),
            replace=verbs.count("replace"),
            delete=verbs.count("delete") + verbs.count("forget"),
            outputs=len(self.outputs),
        )

    def digest(self, key: bytes, *, install: str, component: str, verb: str) -> str:
        """What an approval binds to: an HMAC over everything that would be done.

        A plain hash of a short secret could be guessed from outside; the key stays in the store.

        Args:
            key: The store's secret key.
            install: The install's name.
            component: The component's name.
            verb: `apply` or `teardown`.
        """
        content = {
            "install": install,
            "component": component,
            "verb": verb,
            "objects": [_signed(change) for change in self.objects],
            "outputs": [_signed(change) for change in self.outputs],
        }
        canonical = json.dumps(content, sort_keys=True, separators=(",", ":")).encode()
        return "sha256:" + hmac.new(key, canonical, hashlib.sha256).hexdigest()


def read_changes(plan: bytes) -> Changes:
    """Read `terraform show -json` of a saved plan.

    Raises:
        EngineFailed: where it is not what Terraform documents.
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
            f"`terraform show -json` printed a plan that is not understood "
            f"({type(error).__name__}). Is the Terraform on this worker newer than 1.x?"
        ) from None
    if document.get("action_invocations"):
        raise EngineFailed(
            "the module invokes actions (`action_trigger`, Terraform 1.14 and newer), which an "
            "approval does not cover yet. Remove them from the module, or use an older Terraform."
        )
    return Changes(
        tuple(sorted(objects, key=lambda one: (one.address, one.deposed or ""))),
        tuple(sorted(outputs, key=lambda one: one.address)),
        secrets,
        marks,
        declared,
    )


def _matters(entry: Mapping[str, Any]) -> bool:
    moves = entry.get("previous_address") not in (None, entry["address"])
    imports = "importing" in entry["change"]
    return moves or imports or set(entry["change"]["actions"]) not in _QUIET


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


def _signed(change: Change) -> list[object]:
    return [
        change.address,
        change.deposed,
        list(change.actions),
        change.before,
        change.after,
        change.unknown,
        change.previous_address,
        change.importing,
    ]
