"""What an install's inputs may be set to, by what the release declares."""

import json
from collections.abc import Mapping
from datetime import datetime

from contracts.deploys import Inputs
from contracts.errors import BadInput
from contracts.releases import DeclaredInput


def refuse_values(values: Mapping[str, str | None], declared: list[DeclaredInput] | None) -> None:
    """Refuse what the app does not declare, what does not fit its type, and what is sensitive.

    Raises:
        BadInput: with every problem at once.
    """
    if declared is None:
        raise BadInput(
            "The install has not read a release yet, so its inputs are not known. Start Install "
            "with `release`, or deploy one first."
        )
    by_name = {one.name: one for one in declared}
    problems = [
        problem
        for name, value in values.items()
        if (problem := _problem(name, value, by_name)) is not None
    ]
    if problems:
        raise BadInput("; ".join(problems))


def merged(inputs: Inputs, values: Mapping[str, str | None], now: datetime) -> Inputs:
    """The next revision of the inputs: null takes a value back to its default.

    Revisions grow like turns, by the workflow's time in milliseconds: what is set on an Install
    that was ended and started again is newer than what the store has.
    """
    kept = {**inputs.values, **values}
    return Inputs(
        revision=max(inputs.revision + 1, int(now.timestamp() * 1000)),
        values={name: value for name, value in kept.items() if value is not None},
    )


def _problem(name: str, value: str | None, declared: Mapping[str, DeclaredInput]) -> str | None:
    one = declared.get(name)
    if one is None:
        return f"{name}: the app has no such input; it has: {', '.join(declared) or 'none'}"
    if one.sensitive:
        return (
            f"{name}: is sensitive, and what is sent here is kept in plain text; set it on the "
            "customer's side, on the install worker's machine: exclave worker set-input"
        )
    if value is not None and not _fits(value, one.type):
        return f"{name}: must be a {one.type}"
    return None


def _fits(value: str, kind: str) -> bool:
    if kind == "bool":
        return value in {"true", "false"}
    if kind == "number":
        try:
            float(value)
        except ValueError:
            return False
        return True
    if kind in {"json", "list"}:
        try:
            parsed = json.loads(value)
        except ValueError:
            return False
        return kind == "json" or isinstance(parsed, list)
    return True
