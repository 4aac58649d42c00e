"""Action: script steps that the install worker runs, each once."""

from datetime import timedelta

from pydantic import Field

from contracts.activities import Activity
from contracts.deploys import Outputs
from contracts.messages import Command, Message, WorkerInput
from contracts.names import ComponentName, Digest, Name

FEATURE_ACTION = "action/1"
FEATURE_LONG_ACTIONS = "long-actions/1"
"""Reads releases whose actions may take longer than 30 minutes."""


class ActionInput(Command):
    """The input of the workflow `Action`, which the Install workflow or anybody else may start."""

    install: Name
    action: ComponentName
    release: Digest | None = None
    """The release that contains the action; without one, the release deployed last."""
    trigger: str = "manual"
    """What started it, as the app config names it; its steps see it as TRIGGER_TYPE."""


class ScopeAction(WorkerInput):
    """The input of `action.scope`."""

    install: Name
    action: ComponentName
    release: Digest | None = None


class ActionScope(Message):
    """The steps of an action, and how long they may take together."""

    app: Name
    release: Digest
    steps: list[str]
    timeout_seconds: float
    state_revision: int = 0


class StepInput(WorkerInput):
    """The input of `action.step`."""

    install: Name
    app: Name
    release: Digest
    action: ComponentName
    step: int
    """Index of the step, from 0."""
    key: str
    """First execution run id, action, step and ordinal, joined by `/`."""
    timeout_seconds: float
    trigger: str = "manual"
    state_revision: int = 0


class StepResult(Message):
    """What a step wrote to its outputs file."""

    step: str
    outputs: Outputs = Field(default_factory=Outputs)
    state_revision: int = 0


class ActionResult(Message):
    """The result of the workflow `Action`."""

    install: Name
    action: ComponentName
    release: Digest
    steps: list[StepResult]


SCOPE = Activity("action.scope", ScopeAction, ActionScope, timedelta(minutes=10))
STEP = Activity(
    "action.step",
    StepInput,
    StepResult,
    # A step may take 12 hours by the app config's own limit; the rest is waiting for a slot.
    timedelta(days=1),
)
