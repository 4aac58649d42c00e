"""Secrets of Kubernetes are known by their kind: no plan view, result or error shows them."""

import base64
import json
from typing import Any

import pytest
import yaml

from activities.plans.view import render_view
from activities.secrets.masking import MASK, Mask
from activities.terraform.kubernetes_secrets import of_kubernetes
from activities.terraform.plan_json import read_changes

SECRET = "hunter2-of-the-cluster"
CODED = base64.b64encode(SECRET.encode()).decode()


def manifest(**contents: Any) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "db"}, **contents}


@pytest.mark.parametrize(
    "value",
    [
        manifest(data={"password": CODED}),
        manifest(stringData={"password": SECRET}),
        manifest(data={"password": CODED[:12] + "\n" + CODED[12:]}),
        {"kind": "List", "items": [manifest(stringData={"password": SECRET})]},
        yaml.safe_dump(manifest(stringData={"password": SECRET})),
        "kind: ConfigMap\n---\n" + yaml.safe_dump(manifest(data={"password": CODED})),
        {"annotations": {"last-applied": json.dumps(manifest(data={"password": CODED}))}},
        {"value": manifest(stringData={"password": SECRET}), "type": ["object", {}]},
        {"kind": {"value": "Secret", "type": "string"}, "data": {"p": CODED}},
    ],
)
def test_the_contents_are_known_as_they_are_and_in_base64(value: object) -> None:
    assert SECRET in set(of_kubernetes({"deep": [value]}))


def test_the_types_that_terraform_keeps_beside_values_are_no_secrets() -> None:
    typed = {"value": {"p": SECRET}, "type": ["map", "string"]}
    assert set(of_kubernetes(manifest(data=typed))) == {SECRET}
    named = {"value": SECRET, "type": "other-secret"}
    assert set(of_kubernetes(manifest(stringData=named))) == {SECRET, "other-secret"}


@pytest.mark.parametrize(
    "value",
    [
        {"kind": "ConfigMap", "data": {"a": "plain"}},
        "kind of a Secret: {",
        "a Secret of some kind",
        manifest(data=None),
        {"kind": "Secret", "data": True},
    ],
)
def test_nothing_else_is(value: object) -> None:
    assert list(of_kubernetes(value)) == []


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
    """Nor where something else repeats it."""
    after = {"manifest": manifest(data={"password": CODED}), "size": "small"}
    other = {"manifest": {}, "size": "large"}
    sides = {"before": other, "after": other, side: after}
    text = render_view("net", "apply", read_changes(plan(**sides)), Mask.of([]))
    assert SECRET not in text
    assert CODED not in text
    assert MASK in text
    assert '"small"' in text and '"large"' in text
