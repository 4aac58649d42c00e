"""Deploy: one release to one install, each component approved by its plan's digest."""

from datetime import timedelta
from typing import Literal

from pydantic import Field

from contracts.activities import Activity
from contracts.messages import (
    Command,
    Message,
    Nothing,
    OperationInput,
    Turn,
    WorkerDescription,
    WorkerInput,
)
from contracts.names import ComponentName, Digest, Name, PartName

FEATURE_DEPLOY = "deploy/1"
FEATURE_TERRAFORM = "terraform_module/1"


INPUTS_LIMIT_BYTES = 256 * 1024
"""The largest JSON of all values together: they travel with every deploy, and a payload may have
2 MiB at most."""


class Inputs(Message):
    """One revision of the values of the install's inputs; none of them is sensitive."""

    revision: int = 0
    values: dict[str, str] = Field(default_factory=dict)
    base: int = 0
    """The revision that this Install workflow started from; 0 if it started without any. Values in
    the store that it does not know were set through a former Install workflow, and are kept."""
    removed: list[str] = Field(default_factory=list)
    """The inputs whose values were removed since then."""


class Grant(Message):
    """The turn, and what the Install workflow passes to the run along with it."""

    turn: Turn
    app: Name
    inputs: Inputs = Field(default_factory=Inputs)
    read: Digest | None = None
    """A release that the Install workflow has already verified to be one of the app's."""
    schedules: list[str] = Field(default_factory=list)
    """The ids of the schedules that start the install's actions, as far as Install knows."""


class DeployInput(Command):
    """The input of the workflow `Deploy`, which the Install workflow or anybody else may start."""

    install: Name
    release: Digest
    grant: Grant | None = None
    """Set only by the Install workflow, when the turn is free; refused from anybody else."""


class ComponentOutcome(Message):
    """The outcome of one component."""

    component: PartName
    outcome: Literal["applied", "unchanged", "skipped", "torn down", "failed", "not attempted"]
    reason: str = ""


class DeployResult(Message):
    """The result of the workflow `Deploy`."""

    install: Name
    release: Digest
    components: list[ComponentOutcome]


class ScopeInput(WorkerInput):
    """The input of `deploy.scope`."""

    install: Name
    app: Name
    release: Digest
    turn: Turn
    inputs: Inputs


class Decision(Message):
    """What a run does with one part of the install, and why."""

    component: PartName
    type: str
    verb: Literal["plan", "skip", "teardown"]
    reason: str
    release: Digest
    """The release that contains the component: for a teardown, the one that created it."""
    after: list[PartName] = Field(default_factory=list)
    """Parts that must be finished first: the component's dependencies or, for a teardown, the parts
    that depend on it."""


class TriggeredAction(Message):
    """An action that is not started by a person."""

    action: ComponentName
    trigger: str
    """As the app config names it, for example `post-deploy-all-components` or `cron`."""
    component: ComponentName | None = None
    """The component, for a trigger that belongs to one."""
    cron: str | None = None
    """When, for the trigger `cron`: five fields, or a name such as `@daily`; in UTC."""
    release: Digest | None = None
    """The release that contains the action; None for the run's own release."""


class Scope(Message):
    """What a run does with each part of the install, in a stable order that follows the graph."""

    decisions: list[Decision]
    state_revision: int
    worker: WorkerDescription
    actions: list[TriggeredAction] = Field(default_factory=list)
    """The actions that the release has triggers for, ordered by their index and name."""
    provisioned: bool = False
    """Whether the install was provisioned before."""


class ChangeCounts(Message):
    """How many objects a plan creates, updates, replaces, deletes; how many outputs change."""

    create: int = 0
    update: int = 0
    replace: int = 0
    delete: int = 0
    outputs: int = 0

    def __str__(self) -> str:
        objects = {
            "create": self.create,
            "update": self.update,
            "replace": self.replace,
            "delete": self.delete,
        }
        said = [f"{count} to {verb}" for verb, count in objects.items() if count]
        said += [f"{self.outputs} output{'s' if self.outputs > 1 else ''}"] if self.outputs else []
        return ", ".join(said) or "no changes"


class PlanInput(OperationInput):
    """The input of an engine's plan activity."""

    teardown: bool = False


class Outputs(Message):
    """A component's outputs as they may travel."""

    values: dict[str, object] = Field(default_factory=dict)
    """Those that are not sensitive; a value rendered from a sensitive one is masked."""
    sensitive: list[str] = Field(default_factory=list)
    """The names of those that are sensitive."""
    omitted: list[str] = Field(default_factory=list)
    """The names of those that are too large to travel. All values are in the store. If there are
    very many names, the last entry of a list says how many more there are."""


class Plan(Message):
    """The summary of a plan that an approval needs."""

    digest: Digest
    changes: ChangeCounts
    empty: bool
    """Nothing would change: the component is recorded as done, and there is nothing to apply."""
    state_revision: int
    outputs: Outputs = Field(default_factory=Outputs)
    """Set only if the plan is empty."""


class ApplyInput(OperationInput):
    """The input of an engine's apply activity."""

    plan_key: str
    """The key of the operation that made the plan."""
    digest: Digest
    """The digest of the plan that was approved."""
    teardown: bool = False


class RunInput(OperationInput):
    """The input of the one activity of an engine that makes no plan."""

    teardown: bool = False


class Applied(Message):
    """The result of what changes a part: an apply, or all of the work of an engine without plan."""

    state_revision: int
    outputs: Outputs = Field(default_factory=Outputs)


class ViewInput(WorkerInput):
    """The input of `plan.view`."""

    install: Name
    component: PartName
    plan_key: str
    page: int = 1


class PlanView(Message):
    """One page of what an approver sees, at most 256 KiB."""

    component: PartName
    digest: Digest
    text: str
    page: int
    pages: int


class FinishInput(WorkerInput):
    """The input of `deploy.finish`."""

    install: Name
    app: Name
    release: Digest
    turn: Turn


class Approval(Command):
    """The argument of the updates `approve` and `deny`."""

    digest: Digest
    by: str = ""
    reason: str = ""


class ViewRequest(Command):
    """The argument of the update `view`."""

    digest: Digest
    page: int = 1


class WaitingPlan(Message):
    """A plan that waits for an approval."""

    component: PartName
    digest: Digest
    teardown: bool
    changes: ChangeCounts
    plan_key: str = ""
    """The key of the operation that made the plan, needed to read its view; empty if an older
    control worker reports it."""


class PartProgress(Message):
    """How far a run is with one part of the install."""

    component: PartName
    state: str
    """`waits`, `working`, `waits for approval`, or an outcome."""
    words: str = ""
    """What is being done, or the reason for the outcome."""


class Progress(Message):
    """The answer of the query `progress`."""

    doing: str
    """What the run as a whole does, in a few words."""
    parts: list[PartProgress] = Field(default_factory=list)
    """In the order in which the run takes them."""


class Waiting(Message):
    """The answer of the query `waiting`."""

    waits_for: str
    """In one sentence: that it waits for the turn, for approvals, or for nothing."""
    plans: list[WaitingPlan] = Field(default_factory=list)


_DAY = timedelta(days=1)
"""More than any tool's own timeout, which the supervisor enforces, plus waits for leases and
memory."""

SCOPE = Activity("deploy.scope", ScopeInput, Scope, timedelta(minutes=10))
FINISH = Activity("deploy.finish", FinishInput, Nothing, timedelta(minutes=2))
TERRAFORM_PLAN = Activity("terraform.plan", PlanInput, Plan, _DAY)
TERRAFORM_APPLY = Activity("terraform.apply", ApplyInput, Applied, _DAY)
VIEW = Activity(
    "plan.view",
    ViewInput,
    PlanView,
    timedelta(seconds=30),
    # A person waits: say that the worker is away instead of waiting with them.
    schedule_to_start=timedelta(seconds=5),
)
"""Started as a standalone activity, without a workflow; or within the run, by the update `view`."""

MOST_VIEWS = 20
"""How many pages of plans the update `view` returns in one run: each page is stored in the run's
history twice, and a history that grows too large, or has 2,000 updates, ends the run."""
