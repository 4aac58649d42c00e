"""The digest of a plan, which an approval names."""

import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from activities.plans.changes import Changes
from tests.activities.plans.made_changes import change, objects

KEY = b"k" * 32
WHOSE = {"install": "acme", "component": "net", "verb": "apply"}


def digest(found: Changes, key: bytes = KEY, **whose: str) -> str:
    return found.digest(key, **WHOSE | whose)


def test_it_is_bound_to_key_install_component_and_verb() -> None:
    found = objects(change(after={"size": "small"}))
    others = [
        digest(found),
        digest(found, b"l" * 32),
        digest(found, install="other"),
        digest(found, component="other"),
        digest(found, verb="teardown"),
    ]
    assert len(set(others)) == len(others)


@pytest.mark.parametrize(
    "field",
    [
        {"address": "terraform_data.two"},
        {"actions": ("update",)},
        {"actions": ("create", "delete")},
        {"actions": ("delete", "create")},
        {"before": {"size": "small"}},
        {"after": {"size": "large"}},
        {"after": {"size": None}},
        {"after": None},
        {"unknown": {"id": True}},
        {"unknown": {"id": True, "output": True}},
        {"deposed": "1149ce61"},
        {"previous_address": "terraform_data.old"},
        {"importing": '{"id": "1"}'},
    ],
)
def test_each_field_of_a_change_counts(field: dict[str, Any]) -> None:
    one = change(after={"size": "small"})
    assert digest(objects(replace(one, **field))) != digest(objects(one))
    output = Changes((), (one,))
    assert digest(Changes((), (replace(one, **field),))) != digest(output)
    assert digest(output) != digest(objects(one)), "an object is no output"


def test_one_change_more_counts() -> None:
    one, two = change(), change(address="terraform_data.two")
    assert len({digest(objects(*found)) for found in ([], [one], [one, two], [two])}) == 4


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3)
    ),
    max_leaves=6,
)


@given(JSON, JSON)
def test_values_that_differ_as_json_have_different_digests(one: object, other: object) -> None:
    same = json.dumps(one, sort_keys=True) == json.dumps(other, sort_keys=True)
    digests = {digest(objects(change(after=value))) for value in (one, other)}
    assert (len(digests) == 1) == same


def test_a_digest_cannot_be_guessed_from_the_value_alone() -> None:
    assert digest(objects(change(after={"pin": "1234"}))).startswith("sha256:")
    assert digest(objects(change(after={"pin": "1234"})), b"") != digest(
        objects(change(after={"pin": "1234"}))
    )
