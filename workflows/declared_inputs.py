"""What an install's inputs may be set to, by what the release declares."""

import json
from collections.abc import Mapping
from datetime import datetime

from apps.input_values import type_problem
from contracts.deploys import INPUTS_LIMIT_BYTES, Inputs
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
    removed = {*inputs.removed, *(name for name, value in values.items() if value is None)}
    return Inputs(
        revision=max(inputs.revision + 1, int(now.timestamp() * 1000)),
        values={name: value for name, value in kept.items() if value is not None},
        base=inputs.base,
        removed=sorted(name for name in removed if kept.get(name) is None),
    )


def refuse_size(inputs: Inputs) -> None:
    """Refuse values that could not travel with a deploy.

    Raises:
        BadInput: naming the limit and the largest value.
    """
    size = len(json.dumps(inputs.values).encode())
    if size > INPUTS_LIMIT_BYTES:
        largest = max(inputs.values, key=lambda name: len(inputs.values[name]))
        raise BadInput(
            f"All values together would be {size} bytes, and may be {INPUTS_LIMIT_BYTES}; the "
            f"largest is {largest}. Put big things into the release or into the customer's "
            "storage, and set their address."
        )


def _problem(name: str, value: str | None, declared: Mapping[str, DeclaredInput]) -> str | None:
    one = declared.get(name)
    if one is None:
        return f"{name}: the app has no such input; it has: {', '.join(declared) or 'none'}"
    if one.sensitive:
        return (
            f"{name}: is sensitive, and what is sent here the control plane would keep; set it on "
            f"the customer's side, on the install worker's machine: exclave worker set-input {name}"
        )
    if value is None or (value == "" and not one.required):
        return None
    problem = type_problem(one.type, value)
    return f"{name}: {problem}" if problem else None
