"""Finds the values that Terraform marks as sensitive, in a plan's JSON and in the state.

Marks are kept beside a value, in a structure of the same shape. Kubernetes Secrets are found even
without marks.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from activities.secrets.kubernetes import of_kubernetes
from activities.terraform.typed_values import plain


def of_plan(document: Mapping[str, Any]) -> Iterable[object]:
    """Every value that a plan (`terraform show -json`) marks, and the contents of Kubernetes
    Secrets in it."""
    variables = document.get("variables") or {}
    declared = document.get("configuration", {}).get("root_module", {}).get("variables") or {}
    for name, variable in declared.items():
        if variable.get("sensitive"):
            yield variables.get(name, {}).get("value")
    changes = [
        *(one["change"] for one in _list(document, "resource_changes")),
        *(one["change"] for one in _list(document, "resource_drift")),
        *(document.get("output_changes") or {}).values(),
    ]
    for change in changes:
        yield from marked(change.get("before"), change.get("before_sensitive"))
        yield from marked(change.get("after"), change.get("after_sensitive"))
    # Not among the changes: data sources that were read, and unchanged outputs.
    for values in (document.get("planned_values"), document.get("prior_state", {}).get("values")):
        yield from _of_values(values or {})
    yield from of_kubernetes(document, plain)


def by_address(document: Mapping[str, Any]) -> dict[str, list[object]]:
    """The marks of each object in a plan, whether or not it changes."""
    found: dict[str, list[object]] = {}
    for one in [*_list(document, "resource_changes"), *_list(document, "resource_drift")]:
        sides = [one["change"].get(f"{side}_sensitive") for side in ("before", "after")]
        found.setdefault(one["address"], []).extend(sides)
    return found


def _of_values(values: Mapping[str, Any]) -> Iterable[object]:
    for output in (values.get("outputs") or {}).values():
        if output.get("sensitive"):
            yield output.get("value")
    modules = [values.get("root_module") or {}]
    while modules:
        module = modules.pop()
        modules += _list(module, "child_modules")
        for resource in _list(module, "resources"):
            yield from marked(resource.get("values"), resource.get("sensitive_values"))


def _list(table: Mapping[str, Any], key: str) -> list[Any]:
    return table.get(key) or []


def marked(value: object, marks: object) -> Iterable[object]:
    """The marked parts of a value; the marks have the shape of Terraform's `*_sensitive`."""
    if marks is True:
        yield plain(value)
        return
    yield from _marked_within(value, marks)
    # The module's own object may look like what the state keeps beside a value, which marks skip.
    if (inner := plain(value)) is not value:
        yield from _marked_within(inner, marks)


def _marked_within(value: object, marks: object) -> Iterable[object]:
    if isinstance(marks, Mapping) and isinstance(value, Mapping):
        for key, mark in marks.items():
            yield from marked(value.get(key), mark)
    elif isinstance(marks, list) and isinstance(value, list):
        for item, mark in zip(value, marks, strict=False):
            yield from marked(item, mark)


def part_at(value: object, path: Iterable[Mapping[str, Any]]) -> object:
    """The part of an instance's attributes that a path in the state points to."""
    for step in path:
        key = plain(step.get("value"))
        inner = plain(value)
        # The module's own object of `value` and `type` is not what the state keeps beside a value.
        value = inner if isinstance(inner, Mapping | list) else value
        if isinstance(value, Mapping):
            value = value.get(str(key))
        elif isinstance(value, list) and isinstance(key, int) and key < len(value):
            value = value[key]
        else:
            return None
    return value
