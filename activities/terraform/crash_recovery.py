"""Whether the changes that remain after a crashed apply are within the approved ones.

A remaining change is, if its address and action match and every value that was known at the
approval is equal; a value that was unknown then may be anything now. Of an approved replace, only
the create, or the delete of the deposed object, may remain. If this same apply created an object
that is now tainted, replacing it counts as its create, and so does deleting the tainted object once
its replacement exists.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from activities.plans.changes import Change, Changes
from activities.terraform.state_file import State, instances

_TAINTED = "replace_because_tainted"
_TRIGGERED = "replace_by_triggers"


def beyond_approval(approved: Changes, remaining: Changes) -> list[str]:
    """A sentence for each remaining change that was not approved; empty if there is none."""
    return [
        *_beyond(approved.objects, remaining.objects),
        *_beyond_outputs(approved.outputs, remaining.outputs),
    ]


def dropped_replaces(approved: Changes, remaining: Changes, state: State) -> list[str]:
    """The addresses of approved replaces that a plan of the rest no longer contains.

    `replace_triggered_by` depends on changes in the same plan: once the triggering object has been
    updated, a plan of the rest no longer replaces the triggered one.

    Args:
        approved: The approved changes.
        remaining: The changes of a plan of the rest.
        state: The current state.
    """
    renewed = {one.address for one in remaining.objects if one.verb in {"replace", "create"}}
    there = {where: one for where, one in instances(state) if not one.get("deposed")}
    return [
        one.address
        for one in approved.objects
        if one.verb == "replace" and one.reason == _TRIGGERED and one.address not in renewed
        if _is_still(one, there.get(one.address) or there.get(one.previous_address or ""))
    ]


def _is_still(approved: Change, instance: Mapping[str, Any] | None) -> bool:
    """Whether the object in the state is still the one that was to be replaced."""
    attributes = (instance or {}).get("attributes")
    if not isinstance(attributes, Mapping) or not isinstance(approved.before, Mapping):
        return False
    if approved.before.get("id") is not None:
        return bool(attributes.get("id") == approved.before["id"])
    return attributes == approved.before


def _beyond(approved: Iterable[Change], remaining: Iterable[Change]) -> Iterable[str]:
    by_address: dict[str, list[Change]] = {}
    for change in approved:
        by_address.setdefault(change.address, []).append(change)
    for change in remaining:
        candidates = by_address.get(change.address, [])
        if not any(_within(one, change) for one in candidates):
            was = (
                f"but {candidates[0].verb} was approved" if candidates else "which was not approved"
            )
            yield f"{change.address}: would {change.verb} it, {was}"


def _beyond_outputs(approved: Iterable[Change], remaining: Iterable[Change]) -> Iterable[str]:
    by_name = {change.address: change for change in approved}
    for change in remaining:
        one = by_name.get(change.address)
        if one is None or not _output_within(one, change):
            yield f"output {change.address}: would change in a way that was not approved"


def _output_within(approved: Change, remaining: Change) -> bool:
    """An output must have its approved value; it may disappear only if that was approved."""
    return (approved.verb == "delete") == (remaining.verb == "delete") and _matches(
        approved.after, approved.unknown, remaining.after, remaining.unknown
    )


def _within(approved: Change, remaining: Change) -> bool:
    result_matches = _matches(approved.after, approved.unknown, remaining.after, remaining.unknown)
    if approved.verb == "replace":
        return _within_replace(approved, remaining, result_matches)
    if approved.verb == "create" and remaining.verb == "replace":
        return remaining.reason == _TAINTED and remaining.deposed is None and result_matches
    if approved.verb == "create" and remaining.verb == "delete":
        return _is_own_deposed(approved, remaining)
    return (
        approved.actions == remaining.actions
        and approved.deposed == remaining.deposed
        # Moves and imports that are done already no longer appear in the plan.
        and remaining.previous_address in (approved.previous_address, None)
        and remaining.importing in (approved.importing, None)
        and _same(approved.before, remaining.before)
        and result_matches
    )


def _within_replace(approved: Change, remaining: Change, result_matches: bool) -> bool:
    if remaining.verb == "delete":
        # The old object, deposed by create-before-destroy, or a tainted new one.
        is_old = remaining.deposed is not None and _same(approved.before, remaining.before)
        return is_old or _is_own_deposed(approved, remaining)
    if remaining.verb == "create":
        return result_matches
    if remaining.verb != "replace" or not result_matches:
        return False
    return _same(approved.before, remaining.before) or remaining.reason == _TAINTED


def _is_own_deposed(approved: Change, remaining: Change) -> bool:
    """Whether this same apply created the deposed object, which became tainted and was replaced."""
    return remaining.deposed is not None and _matches(
        approved.after, approved.unknown, remaining.before, False
    )


def _same(approved: object, now: object) -> bool:
    return _matches(approved, False, now, False)


def _matches(approved: object, unknown: object, now: object, unknown_now: object) -> bool:
    """Whether every value that was known at the approval is equal now."""
    if unknown is True:
        return True
    if unknown_now is True:
        return False
    if isinstance(approved, Mapping) and isinstance(now, Mapping):
        keys = {*approved, *now, *_keys(unknown), *_keys(unknown_now)}
        return all(
            _matches(approved.get(key), _at(unknown, key), now.get(key), _at(unknown_now, key))
            for key in keys
        )
    if isinstance(approved, list) and isinstance(now, list):
        return len(approved) == len(now) and all(
            _matches(one, _at(unknown, index), other, _at(unknown_now, index))
            for index, (one, other) in enumerate(zip(approved, now, strict=True))
        )
    # In Python, True == 1.
    return approved == now and isinstance(approved, bool) == isinstance(now, bool)


def _keys(unknown: object) -> Iterable[object]:
    return unknown.keys() if isinstance(unknown, Mapping) else ()


def _at(unknown: object, key: object) -> object:
    if isinstance(unknown, Mapping):
        return unknown.get(key, False)
    if isinstance(unknown, list) and isinstance(key, int) and key < len(unknown):
        return unknown[key]
    return False
