"""Marked values and Kubernetes Secrets in a plan: no plan view, result or error shows them."""

import base64
import json
from typing import Any

import pytest

from activities.plans.view import render_view
from activities.secrets.kubernetes import of_kubernetes
from activities.secrets.masking import MASK, Mask
from activities.terraform.marks import marked, part_at
from activities.terraform.plan_json import read_changes
from activities.terraform.typed_values import plain

SECRET = "hunter2-of-the-cluster"
CODED = base64.b64encode(SECRET.encode()).decode()


def manifest(**contents: Any) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "db"}, **contents}


@pytest.mark.parametrize(
    "value",
    [
        {"value": manifest(stringData={"password": SECRET}), "type": ["object", {}]},
        {"kind": {"value": "Secret", "type": "string"}, "data": {"p": CODED}},
    ],
)
def test_secrets_are_known_within_values_with_a_type(value: object) -> None:
    assert SECRET in set(of_kubernetes({"deep": [value]}, plain))


def test_the_types_that_terraform_keeps_beside_values_are_no_secrets() -> None:
    typed = {"value": {"p": SECRET}, "type": ["map", "string"]}
    assert set(of_kubernetes(manifest(data=typed), plain)) == {SECRET}
    named = {"value": SECRET, "type": "other-secret"}
    assert set(of_kubernetes(manifest(stringData=named), plain)) == {SECRET, "other-secret"}


def plan(**sides: Any) -> bytes:
    change = {"actions": ["update"], "before": None, "after": None, "after_unknown": {}, **sides}
    return json.dumps(
        {
            "format_version": "1.2",
            "resource_changes": [
                {
                    "address": "kubernetes_manifest.db",
                    "mode": "managed",
                    "type": "kubernetes_manifest",
                    "name": "db",
                    "change": change,
                }
            ],
            "output_changes": {
                "leak": {
                    "actions": ["create"],
                    "before": None,
                    "after": f"postgres://{SECRET}@db",
                    "after_unknown": False,
                    "before_sensitive": False,
                    "after_sensitive": False,
                }
            },
        }
    ).encode()


@pytest.mark.parametrize("side", ["before", "after"])
def test_a_plan_view_does_not_show_what_terraform_does_not_mark(side: str) -> None:
    """Not even where another attribute repeats it."""
    after = {"manifest": manifest(data={"password": CODED}), "size": "small"}
    other = {"manifest": {}, "size": "large"}
    sides = {"before": other, "after": other, side: after}
    text = render_view("net", "apply", read_changes(plan(**sides)), Mask.of([]))
    assert SECRET not in text
    assert CODED not in text
    assert MASK in text
    assert '"small"' in text and '"large"' in text


OWN = {"value": SECRET, "type": "string"}


@pytest.mark.parametrize(
    ("value", "marks"),
    [
        (OWN, {"value": True}),
        ({"deep": [OWN]}, {"deep": [{"value": True}]}),
        ({"value": OWN, "type": ["object", {}]}, {"value": True}),
        ({"value": {"p": SECRET}, "type": ["map", "string"]}, {"p": True}),
        (OWN, True),
    ],
)
def test_an_object_of_value_and_type_keeps_its_marks(value: object, marks: object) -> None:
    """It lost them until the first apply, since it looks like what the state keeps."""
    assert SECRET in set(marked(value, marks))
    after = {"given": value, "repeated": f"x{SECRET}"}
    sides = {"after": after, "after_sensitive": {"given": marks}}
    assert SECRET not in render_view("net", "apply", read_changes(plan(**sides)), Mask.of([]))


@pytest.mark.parametrize(
    ("value", "path"),
    [
        ({"given": OWN}, ["given", "value"]),
        ({"given": {"value": OWN, "type": ["object", {}]}}, ["given", "value"]),
        ({"given": {"value": {"p": SECRET}, "type": ["map", "string"]}}, ["given", "p"]),
    ],
)
def test_a_path_of_the_state_leads_into_such_an_object(value: object, path: list[str]) -> None:
    steps = [{"type": "get_attr", "value": name} for name in path]
    assert plain(part_at(value, steps)) == SECRET
