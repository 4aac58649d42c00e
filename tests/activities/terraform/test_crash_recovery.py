"""After a crash: the remaining changes are within the approved ones, or need a new approval."""

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from activities.plans.changes import Change, Changes
from activities.terraform.crash_recovery import beyond_approval, dropped_replaces
from tests.activities.plans.made_changes import change, objects
from tests.activities.terraform.terraform_plans import NAMES, changes

TAINTED = "replace_because_tainted"

JSON = st.recursive(
    st.none() | st.booleans() | st.integers(0, 3) | st.sampled_from(["a", "b", ""]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["k", "l", "m"]), inner, max_size=3)
    ),
    max_leaves=6,
)
ATTRIBUTES = st.dictionaries(st.sampled_from(["id", "size", "tags"]), JSON, max_size=3)


@st.composite
def planned(draw: st.DrawFn, value: object) -> tuple[object, object]:
    """The value as a plan shows it: what is unknown is left out, and marked beside it."""
    if isinstance(value, dict):
        after: dict[str, object] = {}
        unknown: dict[str, object] = {}
        for key, item in value.items():
            if draw(st.booleans()):
                unknown[key] = True
            else:
                after[key], mark = draw(planned(item))
                if mark:
                    unknown[key] = mark
        return after, unknown
    if isinstance(value, list):
        # Terraform keeps the place of an unknown element, with null in it.
        pairs = [(None, True) if draw(st.booleans()) else draw(planned(one)) for one in value]
        return [one for one, _ in pairs], [mark for _, mark in pairs]
    return value, False


@st.composite
def later(draw: st.DrawFn, after: object, unknown: object) -> tuple[object, object]:
    """The same plan later: some unknown values have become known, and may be anything."""
    if unknown is True:
        return (draw(JSON), False) if draw(st.booleans()) else (None, True)
    if isinstance(after, dict):
        marks: dict[str, Any] = unknown if isinstance(unknown, dict) else {}
        now, still = {}, {}
        for key in {*after, *marks}:
            value, mark = draw(later(after.get(key), marks.get(key, False)))
            if mark is not True:
                now[key] = value
            if mark:
                still[key] = mark
        return now, still
    if isinstance(after, list):
        pairs = [
            draw(later(one, unknown[i] if isinstance(unknown, list) else False))
            for i, one in enumerate(after)
        ]
        return [one for one, _ in pairs], [mark for _, mark in pairs]
    return after, False


@st.composite
def approvals(draw: st.DrawFn) -> tuple[Changes, Changes]:
    """Approved changes, and a part of them as it is planned later."""
    approved, remaining = [], []
    for number in range(draw(st.integers(0, 4))):
        actions = draw(st.sampled_from(["create", "update", "delete", "delete create"]))
        before = None if actions == "create" else draw(ATTRIBUTES)
        after, unknown = (None, {}) if actions == "delete" else draw(planned(draw(ATTRIBUTES)))
        one = change(actions, address=f"x.{number}", before=before, after=after, unknown=unknown)
        approved.append(one)
        if draw(st.booleans()):
            now, still = (None, {}) if actions == "delete" else draw(later(after, unknown))
            remaining.append(replace(one, after=now, unknown=still))
    return objects(*approved), objects(*remaining)


@given(approvals())
def test_any_part_of_what_was_approved_is_within(both: tuple[Changes, Changes]) -> None:
    approved, remaining = both
    assert beyond_approval(approved, remaining) == []
    assert beyond_approval(approved, approved) == []
    as_outputs = Changes((), approved.objects), Changes((), remaining.objects)
    assert beyond_approval(*as_outputs) == []


@given(approvals(), ATTRIBUTES)
def test_anything_extra_is_not(both: tuple[Changes, Changes], after: dict[str, object]) -> None:
    approved, remaining = both
    extra = change(address="x.extra", after=after)
    [message] = beyond_approval(approved, objects(*remaining.objects, extra))
    assert message == "x.extra: would create it, which was not approved"
    [message] = beyond_approval(approved, Changes(remaining.objects, (extra,)))
    assert "output x.extra" in message


@given(st.data(), st.dictionaries(st.sampled_from("abc"), JSON, min_size=1), JSON)
def test_a_known_value_that_differs_is_not(
    data: st.DataObject, after: dict[str, object], other: object
) -> None:
    key = data.draw(st.sampled_from(sorted(after)))
    # Compared as JSON, where null equals a missing value, and true does not equal 1.
    is_same = repr(_without_nulls(after[key])) == repr(_without_nulls(other))
    one = change("update", before={}, after=after)
    now = replace(one, after={**after, key: other})
    assert (beyond_approval(objects(one), objects(now)) == []) == is_same


@pytest.mark.parametrize(("one", "other"), [(True, 1), (False, 0), ("1", 1), ("", None), ([], {})])
def test_values_of_another_type_differ(one: object, other: object) -> None:
    for known, now in ((one, other), (other, one)):
        approved = change("update", before={}, after={"a": [known]})
        assert not is_within(approved, replace(approved, after={"a": [now]}))


def _without_nulls(value: object) -> object:
    if isinstance(value, dict):
        return {k: _without_nulls(value[k]) for k in sorted(value) if value[k] is not None}
    return [_without_nulls(one) for one in value] if isinstance(value, list) else value


@given(JSON)
def test_unknown_may_become_anything_but_known_may_not_become_unknown(value: object) -> None:
    unknown = change(after={"size": "s"}, unknown={"id": True})
    known = replace(unknown, after={"size": "s", "id": value}, unknown={})
    assert beyond_approval(objects(unknown), objects(known)) == []
    assert beyond_approval(objects(known), objects(unknown)) != []
    nested = change(after={"l": [{"size": 1}]}, unknown={"l": [{"id": True}]})
    now = replace(nested, after={"l": [{"size": 1, "id": value}]}, unknown={})
    assert beyond_approval(objects(nested), objects(now)) == []
    assert beyond_approval(objects(nested), objects(replace(now, after={"l": []}))) != []


def is_within(approved: Change, remaining: Change) -> bool:
    return beyond_approval(objects(approved), objects(remaining)) == []


CREATE = change("create", after={"size": "s"}, unknown={"id": True})
MADE = {"size": "s", "id": "1"}
OLD = {"size": "old", "id": "0"}
REPLACE = change("delete create", before=OLD, after={"size": "s"}, unknown={"id": True})


@pytest.mark.parametrize("order", ["delete create", "create delete"])
def test_a_tainted_object_of_an_approved_create_may_be_replaced(order: str) -> None:
    rest = change(order, before=MADE, after={"size": "s"}, unknown={"id": True}, reason=TAINTED)
    assert is_within(CREATE, rest)
    assert not is_within(CREATE, replace(rest, reason="replace_because_cannot_update"))
    assert not is_within(CREATE, replace(rest, reason=None))
    assert not is_within(CREATE, replace(rest, after={"size": "l"}))
    assert not is_within(CREATE, replace(rest, deposed="1149ce61"))


def test_what_terraform_really_plans_after_a_create_that_failed_is_within() -> None:
    assert beyond_approval(changes("create_app"), changes("create_app_tainted")) == []


@pytest.mark.parametrize("approved", ["update", "delete"])
def test_a_tainted_object_that_this_apply_did_not_create_may_not(approved: str) -> None:
    was = change(approved, before=OLD, after={"size": "s"} if approved == "update" else None)
    rest = change("delete create", before=OLD, after={"size": "s"}, reason=TAINTED)
    assert not is_within(was, rest)


@pytest.mark.parametrize("order", ["delete create", "create delete"])
def test_the_halves_of_an_approved_replace_are_within(order: str) -> None:
    approved = replace(REPLACE, actions=tuple(order.split()))
    assert is_within(approved, CREATE)
    assert not is_within(approved, replace(CREATE, after={"size": "l"}))
    deposed = change("delete", before=OLD, deposed="1149ce61")
    assert is_within(approved, deposed)
    assert not is_within(approved, replace(deposed, before={"size": "another"}))
    assert not is_within(approved, replace(deposed, deposed=None)), "the new one would go"
    tainted = replace(approved, before=MADE, reason=TAINTED)
    assert is_within(approved, tainted)
    assert not is_within(approved, replace(tainted, reason=None)), "another object than approved"


def test_an_update_is_no_half_of_a_replace() -> None:
    assert not is_within(REPLACE, change("update", before=OLD, after={"size": "s"}))
    assert not is_within(change("update", before=OLD, after={"size": "s"}), REPLACE)


def test_only_the_approved_deposed_object_may_go() -> None:
    deposed = change("delete", before=OLD, deposed="1149ce61")
    assert is_within(deposed, deposed)
    assert not is_within(deposed, replace(deposed, deposed="2249ce61"))
    assert not is_within(deposed, replace(deposed, deposed=None))
    assert not is_within(replace(deposed, deposed=None), deposed)
    both = objects(change("update", before={}, after=MADE), deposed)
    assert beyond_approval(both, objects(deposed)) == []


@pytest.mark.parametrize("actions", ["update", "delete"])
def test_an_object_that_has_changed_since_is_not(actions: str) -> None:
    after = {"size": "s"} if actions == "update" else None
    approved = change(actions, before=OLD, after=after)
    assert is_within(approved, approved)
    assert not is_within(approved, replace(approved, before={"size": "drifted"}))


def test_a_move_that_is_done_leaves_the_update() -> None:
    approved = change("update", before=OLD, after=MADE, previous_address="terraform_data.old")
    assert is_within(approved, approved)
    assert is_within(approved, replace(approved, previous_address=None))


def test_a_move_that_nobody_approved_is_not_within() -> None:
    approved = change("update", before=OLD, after=MADE)
    assert not is_within(approved, replace(approved, previous_address="terraform_data.old"))
    moved = replace(approved, previous_address="terraform_data.old")
    assert not is_within(moved, replace(moved, previous_address="terraform_data.another"))


def test_an_import_that_is_done_leaves_the_update() -> None:
    approved = change("update", before=OLD, after=MADE, importing='{"id": "1"}')
    assert is_within(approved, approved)
    assert is_within(approved, replace(approved, importing=None))
    assert not is_within(approved, replace(approved, importing='{"id": "2"}'))
    assert not is_within(replace(approved, importing=None), approved)


def outputs_within(approved: Change, remaining: Change) -> bool:
    return beyond_approval(Changes((), (approved,)), Changes((), (remaining,))) == []


def test_outputs() -> None:
    approved = change("create", address="url", after="a", unknown=False)
    assert outputs_within(approved, approved)
    assert outputs_within(approved, replace(approved, actions=("update",), before="b"))
    assert not outputs_within(approved, replace(approved, after="b"))
    unknown = replace(approved, after=None, unknown=True)
    assert outputs_within(unknown, approved)
    assert not outputs_within(approved, unknown)


def test_an_output_that_would_go_was_not_approved_by_its_change() -> None:
    unknown = change("update", address="url", before="a", unknown=True)
    gone = change("delete", address="url", before="a", unknown=False)
    assert not outputs_within(unknown, gone)
    assert outputs_within(gone, gone)


@pytest.mark.parametrize("name", NAMES)
def test_every_real_plan_is_within_itself_and_its_empty_rest_too(name: str) -> None:
    assert beyond_approval(changes(name), changes(name)) == []
    assert beyond_approval(changes(name), objects()) == []


def test_real_plans_are_not_within_others() -> None:
    for approved, rest in (("create", "delete"), ("update", "replace"), ("moved", "delete")):
        assert beyond_approval(changes(approved), changes(rest)) != []


def test_the_message_names_both_verbs_and_no_value() -> None:
    [message] = beyond_approval(objects(CREATE), objects(change("delete", before={"p": "hunter2"})))
    assert message == "terraform_data.one: would delete it, but create was approved"


@pytest.mark.parametrize("approved", [CREATE, REPLACE])
def test_a_tainted_object_that_this_apply_made_and_replaced_may_go(approved: Change) -> None:
    deposed = change("delete", before=MADE, deposed="1149ce61")
    assert is_within(approved, deposed)
    assert not is_within(approved, replace(deposed, before={"size": "another", "id": "1"}))
    assert not is_within(approved, replace(deposed, deposed=None)), "the current one would go"


TRIGGERED = replace(REPLACE, reason="replace_by_triggers")


def state_of(*instances: dict[str, Any]) -> dict[str, Any]:
    resource = {"mode": "managed", "type": "terraform_data", "name": "one", "instances": instances}
    return {"resources": [resource]}


STILL_THERE = state_of({"attributes": OLD})


def test_a_replace_by_its_trigger_that_a_plan_forgot() -> None:
    dropped = dropped_replaces(objects(TRIGGERED), objects(), STILL_THERE)
    assert dropped == ["terraform_data.one"]
    update = change("update", before=OLD, after={"size": "s"})
    assert dropped_replaces(objects(TRIGGERED), objects(update), STILL_THERE) == dropped
    moved = replace(TRIGGERED, address="terraform_data.two", previous_address="terraform_data.one")
    assert dropped_replaces(objects(moved), objects(), STILL_THERE) == ["terraform_data.two"]


@pytest.mark.parametrize(
    ("approved", "remaining", "state"),
    [
        (TRIGGERED, objects(TRIGGERED), STILL_THERE),
        (TRIGGERED, objects(CREATE), STILL_THERE),
        (REPLACE, objects(), STILL_THERE),
        (change("update", before=OLD, reason="replace_by_triggers"), objects(), STILL_THERE),
        (TRIGGERED, objects(), state_of({"attributes": MADE})),
        (TRIGGERED, objects(), state_of({"attributes": OLD, "deposed": "1149ce61"})),
        (TRIGGERED, objects(), {}),
    ],
)
def test_no_other_is_asked_for(approved: Change, remaining: Changes, state: Any) -> None:
    assert dropped_replaces(objects(approved), remaining, state) == []


def test_an_object_without_an_id_is_known_by_all_its_attributes() -> None:
    approved = replace(TRIGGERED, before={"size": "old"})
    there = state_of({"attributes": {"size": "old"}})
    assert dropped_replaces(objects(approved), objects(), there) == ["terraform_data.one"]
    other = state_of({"attributes": {"size": "new"}})
    assert dropped_replaces(objects(approved), objects(), other) == []
