"""Secrets of Kubernetes are known by their kind."""

import base64
import json
from typing import Any

import pytest
import yaml

from activities.secrets.kubernetes import of_kubernetes

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
    ],
)
def test_the_contents_are_known_as_they_are_and_in_base64(value: object) -> None:
    assert SECRET in set(of_kubernetes({"deep": [value]}))


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
