"""Checks of what a customer's worker answers, since that worker is somebody else's machine.

An answer that cannot be read as the activity's result reaches the workflow as `Unfit`: a decoding
error would make the workflow task fail for ever. An answer that can be read is bounded on arrival,
since it goes into histories, into the state that Install carries, and into what runs start next.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from pydantic import BaseModel

from contracts.actions import ActionScope, StepResult
from contracts.deploys import Applied, Decision, Plan, PlanView, Scope
from contracts.messages import WorkerDescription

LARGEST: Final[Mapping[type[BaseModel], int]] = {
    WorkerDescription: 32 * 1024,
    Scope: 512 * 1024,
    # A page has a limit of its own, and is only shown.
    PlanView: 2 * 1024 * 1024,
}
_LARGEST_OTHERWISE: Final = 128 * 1024
"""Far more than a genuine worker sends: 32 KiB of outputs at most, plus their names."""

_MOST_DECISIONS: Final = 1_000
_MOST_ACTIONS: Final = 500
_MOST_STEPS: Final = 200
_LONGEST_STEP_NAME: Final = 128
"""The app config has the same limit."""
_LONGEST_ACTION_SECONDS: Final = 24 * 60 * 60.0
_LARGEST_NUMBER: Final = 2**53

ANSWERS_BYTES: Final = 512 * 1024
"""The most that the answers of an action's steps may have together: they form the run's result."""


@dataclass(frozen=True)
class AnswerTo:
    """Passed as the expected type of a result, so that an answer that cannot be read is `Unfit`."""

    result: type[BaseModel]


@dataclass(frozen=True)
class Unfit:
    """Takes the place of an answer that cannot be read."""

    why: str
    given_up: bool = False
    """Its key did not arrive in time. It may still arrive before a replay."""


def problem_of(answer: BaseModel) -> str:
    """Why an answer is none that a genuine worker sends; empty if it is acceptable."""
    size = len(answer.model_dump_json().encode())
    limit = LARGEST.get(type(answer), _LARGEST_OTHERWISE)
    if size > limit:
        return f"it has {size} bytes, more than the {limit} that are accepted"
    check = _CHECKS.get(type(answer))
    return check(answer) if check else ""


def _scope_problem(scope: Scope) -> str:
    if len(scope.decisions) > _MOST_DECISIONS:
        return f"it decides on {len(scope.decisions)} parts, more than {_MOST_DECISIONS}"
    if len(scope.actions) > _MOST_ACTIONS:
        return f"it names {len(scope.actions)} actions, more than {_MOST_ACTIONS}"
    return _order_problem(scope.decisions) or _revision_problem(scope.state_revision)


def _order_problem(decisions: list[Decision]) -> str:
    """A part that waits for one that never ends would block the run, and the turn, for ever."""
    left = {one.component: set(one.after) for one in decisions}
    if len(left) < len(decisions):
        return "it decides on the same part twice"
    unknown = sorted(set().union(*left.values()) - left.keys()) if left else []
    if unknown:
        return f"a part waits for {unknown[0]!r}, which is not one of its parts"
    while ready := [name for name, after in left.items() if not after]:
        for name in ready:
            del left[name]
        for after in left.values():
            after.difference_update(ready)
    return f"{', '.join(sorted(left)[:5])} wait for each other" if left else ""


def _plan_problem(plan: Plan) -> str:
    counts = plan.changes.model_dump().values()
    if not all(0 <= count < _LARGEST_NUMBER for count in counts):
        return "it has an impossible count of changes"
    return _revision_problem(plan.state_revision)


def _action_problem(scope: ActionScope) -> str:
    if len(scope.steps) > _MOST_STEPS:
        return f"it has {len(scope.steps)} steps, more than {_MOST_STEPS}"
    if any(len(step) > _LONGEST_STEP_NAME for step in scope.steps):
        return f"a step's name is longer than {_LONGEST_STEP_NAME} characters"
    seconds = scope.timeout_seconds
    if not (math.isfinite(seconds) and 0 <= seconds <= _LONGEST_ACTION_SECONDS):
        return f"its timeout of {seconds} s is outside of what an action may have"
    return _revision_problem(scope.state_revision)


def _revision_problem(revision: int) -> str:
    return "" if 0 <= revision < _LARGEST_NUMBER else "its state revision is impossible"


_CHECKS: Final[Mapping[type[BaseModel], Callable[[Any], str]]] = {
    Scope: _scope_problem,
    Plan: _plan_problem,
    Applied: lambda applied: _revision_problem(applied.state_revision),
    ActionScope: _action_problem,
    StepResult: lambda result: _revision_problem(result.state_revision),
}
