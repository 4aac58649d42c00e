"""What a workflow takes for an answer of a customer's worker: that is somebody else's machine.

What cannot be read as the activity's result is handed to the workflow as such, since one that
cannot be decoded would have its task fail for ever. What can be read is bounded where it comes in:
it goes into histories, into what Install carries, and into what is started.
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
    # A page is bounded by itself, and only shown.
    PlanView: 2 * 1024 * 1024,
}
_LARGEST_OTHERWISE: Final = 128 * 1024
"""Far above what a worker of ours sends: outputs travel up to 32 KiB, and their names besides."""

_MOST_DECISIONS: Final = 1_000
_MOST_ACTIONS: Final = 500
_MOST_STEPS: Final = 200
_LONGEST_STEP_NAME: Final = 128
"""As the app config has it."""
_LONGEST_ACTION_SECONDS: Final = 24 * 60 * 60.0
_LARGEST_NUMBER: Final = 2**53

ANSWERS_BYTES: Final = 512 * 1024
"""The most that the answers of an action's steps have together: they are its run's result."""


@dataclass(frozen=True)
class AnswerTo:
    """Stands for a result's type where a workflow asks for it: what cannot be read is `Unfit`."""

    result: type[BaseModel]


@dataclass(frozen=True)
class Unfit:
    """In the place of an answer that cannot be read."""

    why: str
    given_up: bool = False
    """Its key was waited for, and did not come. It may come all the same, before a replay."""


def too_much(answer: BaseModel) -> str:
    """What an answer has that no worker of ours sends; empty where it may be taken."""
    size = len(answer.model_dump_json().encode())
    limit = LARGEST.get(type(answer), _LARGEST_OTHERWISE)
    if size > limit:
        return f"it has {size} bytes, more than the {limit} that are taken"
    check = _CHECKS.get(type(answer))
    return check(answer) if check else ""


def _of_scope(scope: Scope) -> str:
    if len(scope.decisions) > _MOST_DECISIONS:
        return f"it decides on {len(scope.decisions)} parts, more than {_MOST_DECISIONS}"
    if len(scope.actions) > _MOST_ACTIONS:
        return f"it names {len(scope.actions)} actions, more than {_MOST_ACTIONS}"
    return _of_order(scope.decisions) or _of_revision(scope.state_revision)


def _of_order(decisions: list[Decision]) -> str:
    """A part that waits for one which never ends would keep the run, and the turn, for ever."""
    left = {one.component: set(one.after) for one in decisions}
    if len(left) < len(decisions):
        return "it decides on the same part twice"
    unknown = sorted(set().union(*left.values()) - left.keys()) if left else []
    if unknown:
        return f"a part waits for {unknown[0]!r}, which is none of its parts"
    while ready := [name for name, after in left.items() if not after]:
        for name in ready:
            del left[name]
        for after in left.values():
            after.difference_update(ready)
    return f"{', '.join(sorted(left)[:5])} wait for each other" if left else ""


def _of_plan(plan: Plan) -> str:
    counts = plan.changes.model_dump().values()
    if not all(0 <= count < _LARGEST_NUMBER for count in counts):
        return "it counts changes that there cannot be"
    return _of_revision(plan.state_revision)


def _of_action(scope: ActionScope) -> str:
    if len(scope.steps) > _MOST_STEPS:
        return f"it has {len(scope.steps)} steps, more than {_MOST_STEPS}"
    if any(len(step) > _LONGEST_STEP_NAME for step in scope.steps):
        return f"a step's name is longer than {_LONGEST_STEP_NAME} characters"
    seconds = scope.timeout_seconds
    if not (math.isfinite(seconds) and 0 <= seconds <= _LONGEST_ACTION_SECONDS):
        return f"it may take {seconds} s, which no action may"
    return _of_revision(scope.state_revision)


def _of_revision(revision: int) -> str:
    fits = 0 <= revision < _LARGEST_NUMBER
    return "" if fits else "the revision of its state is none that there can be"


_CHECKS: Final[Mapping[type[BaseModel], Callable[[Any], str]]] = {
    Scope: _of_scope,
    Plan: _of_plan,
    Applied: lambda applied: _of_revision(applied.state_revision),
    ActionScope: _of_action,
    StepResult: lambda result: _of_revision(result.state_revision),
}
