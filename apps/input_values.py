"""The values of an install's inputs: strings, checked against the type that the app declares."""

import json
import math
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING

from apps.sensitivity import Sensitive
from apps.spelling import did_you_mean

if TYPE_CHECKING:
    from apps.config.app import AppConfig
    from apps.config.inputs import Input

InputValue = str | Sensitive

_NUMBER = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?", re.ASCII)


class InputErrors(Exception):
    """The inputs given do not fit the config; `problems` names every one, without its value."""

    def __init__(self, problems: list[str]) -> None:
        self.problems = problems
        super().__init__("\n".join(problems))


def effective_inputs(
    config: "AppConfig",
    given: Mapping[str, str],
    sensitive_given: Mapping[str, str] | None = None,
    *,
    checked: bool = True,
) -> dict[str, InputValue]:
    """Every declared input with its value: the given one, else its default, else the empty string.

    Values of `sensitive_given`, and of inputs that are declared sensitive, are marked so.

    Args:
        config: The config that declares the inputs.
        given: The values that were set.
        sensitive_given: The values that were set on the customer's side.
        checked: Whether values must fit their types; a teardown takes them as they are.

    Raises:
        InputErrors: checked, and a required input is missing, an input is unknown, or a value has a
            wrong type.
    """
    sensitive_given = sensitive_given or {}
    values = {**given, **sensitive_given}
    declared = {item.name: item for item in config.inputs}
    problems = [
        f"input `{name}` is not declared by the app{did_you_mean(name, declared)}"
        for name in sorted(values.keys() - declared.keys())
    ]
    found: dict[str, InputValue] = {}
    for item in config.inputs:
        value = values.get(item.name, default_text(item))
        problem = _problem(item, value)
        if problem:
            problems.append(f"input `{item.name}`: {problem}")
        text = value or ""
        is_sensitive = item.sensitive or item.name in sensitive_given
        found[item.name] = Sensitive(text) if is_sensitive else text
    if problems and checked:
        raise InputErrors(problems)
    return found


def default_text(item: "Input") -> str | None:
    """An input's default as the text that templates see; None if it has no default."""
    if item.default is None or isinstance(item.default, str):
        return item.default
    return json.dumps(item.default, separators=(",", ":"), ensure_ascii=False)


def type_problem(kind: str, text: str) -> str | None:
    """Why `text` does not fit the type of an input, without showing it; None if it fits."""
    match kind:
        case "number":
            is_number = _NUMBER.fullmatch(text) and math.isfinite(float(text))
            return None if is_number else "must be a number"
        case "bool":
            return None if text in ("true", "false") else "must be true or false"
        case "json":
            return json_problem(text)
        case "list":
            return _list_problem(text)
        case _:
            return None


def _problem(item: "Input", value: str | None) -> str | None:
    if value is None:
        return "is required and has no value" if item.required else None
    if value == "" and not item.required:
        return None
    return type_problem(item.type, value)


def json_problem(text: str) -> str | None:
    """Why a text is not JSON; None if it is."""
    try:
        json.loads(text)
    except RecursionError:
        return "must be JSON, and is nested too deeply"
    except ValueError as error:
        where = f" at line {error.lineno}" if isinstance(error, json.JSONDecodeError) else ""
        return f"must be JSON, and cannot be read{where}"
    return None


def _list_problem(text: str) -> str | None:
    problem = json_problem(text)
    if problem is None and isinstance(json.loads(text), list):
        return None
    return 'must be a list, written as JSON: ["a", "b"]'
