"""Whether what a crashed apply left to do lies within what was approved.

A remaining change does if its address and action match and every value that was known at the
approval is equal; what was unknown then may have become anything. Of an approved replace, its
create or the delete of the deposed object may be what is left. An object that this same apply
created and that is now tainted is replaced: that counts as its create.
"""

from collections.abc import Iterable, Mapping

from activities.terraform.changes import Change, Changes

_TAINTED = "replace_because_tainted"


def beyond_approval(approved: Changes, remaining: Changes) -> list[str]:
    """What remains to be done and was not approved, a sentence each; empty if all is within."""
    return [
        *_beyond(approved.objects, remaining.objects),
        *_beyond_outputs(approved.outputs, remaining.outputs),
    ]


def _beyond(approved: Iterable[Change], remaining: Iterable[Change]) -> Iterable[str]:
    by_address: dict[str, list[Change]] = {}
    for change in approved:
        by_address.setdefault(change.address, []).append(change)
    for change in remaining:
        candidates = by_address.get(change.address, [])
        if not any(_within(one, change) for one in candidates):
            was = f"approved was to {candidates[0].verb} it" if candidates else "was not approved"
            yield f"{change.address}: would {change.verb} it, {was}"


def _beyond_outputs(approved: Iterable[Change], remaining: Iterable[Change]) -> Iterable[str]:
    by_name = {change.address: change for change in approved}
    for change in remaining:
        one = by_name.get(change.address)
        if one is None or not _matches(one.after, one.unknown, change.after, change.unknown):
            yield f"output {change.address}: would change in a way that was not approved"


def _within(approved: Change, remaining: Change) -> bool:
    result_matches = _matches(approved.after, approved.unknown, remaining.after, remaining.unknown)
    if approved.verb == "replace":
        return _within_replace(approved, remaining, result_matches)
    if approved.verb == "create" and remaining.verb == "replace":
        return remaining.reason == _TAINTED and remaining.deposed is None and result_matches
    return (
        approved.actions == remaining.actions
        and approved.deposed == remaining.deposed
        and approved.previous_address in (remaining.previous_address, None)
        and approved.importing == remaining.importing
        and approved.before == remaining.before
        and result_matches
    )


def _within_replace(approved: Change, remaining: Change, result_matches: bool) -> bool:
    if remaining.verb == "delete":
        # The old object, deposed by create-before-destroy.
        return remaining.deposed is not None and remaining.before == approved.before
    if remaining.verb == "create":
        return result_matches
    if remaining.verb != "replace" or not result_matches:
        return False
    return remaining.before == approved.before or remaining.reason == _TAINTED


def _matches(approved: object, unknown: object, now: object, unknown_now: object) -> bool:
    """Whether every value known at the approval is the same now."""
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
    return approved == now


def _keys(unknown: object) -> Iterable[object]:
    return unknown.keys() if isinstance(unknown, Mapping) else ()


def _at(unknown: object, key: object) -> object:
    if isinstance(unknown, Mapping):
        return unknown.get(key, False)
    if isinstance(unknown, list) and isinstance(key, int) and key < len(unknown):
        return unknown[key]
    return False
