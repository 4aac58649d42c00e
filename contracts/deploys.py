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
"""The largest JSON of all values together: they travel with every deploy, and a payload ends at
2 MiB."""


class Inputs(Message):
    """One revision of the values that the install's inputs have; none of them sensitive."""

    revision: int = 0
    values: dict[str, str] = Field(default_factory=dict)
    base: int = 0
    """The revision that this Install began from; 0 for one that began with none. What the store
    has beyond it was set through a former Install, and is kept."""
    removed: list[str] = Field(default_factory=list)
    """The inputs whose values were taken back since then."""


class Grant(Message):
    """The turn, and what the Install workflow gives along with it."""

    turn: Turn
    app: Name
    inputs: Inputs = Field(default_factory=Inputs)
    read: Digest | None = None
    """A release that the Install workflow has read as one of the app's: nobody need look again."""
    schedules: list[str] = Field(default_factory=list)
    """The ids of the schedules that start the install's actions, as Install knows of them."""


class DeployInput(Command):
    """What `Deploy` is started with, by the Install workflow or by anybody."""

    install: Name
    release: Digest
    grant: Grant | None = None
    """Set by the Install workflow alone, when the turn is free; refused from anybody else."""


class ComponentOutcome(Message):
    """What became of one component."""

    component: PartName
    outcome: Literal["applied", "unchanged", "skipped", "torn down", "failed", "not attempted"]
    reason: str = ""


class DeployResult(Message):
    """What `Deploy` gives back."""

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
    """The release that the verb takes the component from: for a teardown, the one that made it."""
    after: list[PartName] = Field(default_factory=list)
    """What must be done before: the component's dependencies, or, for a teardown, what depended
    on it."""


class TriggeredAction(Message):
    """An action that something else starts than a person."""

    action: ComponentName
    trigger: str
    """As the app config names it, for example `post-deploy-all-components` or `cron`."""
    component: ComponentName | None = None
    """Of a trigger that belongs to one component."""
    cron: str | None = None
    """When, for the trigger `cron`: five fields, or a name such as `@daily`; in UTC."""
    release: Digest | None = None
    """The release whose action it is; None where that is the run's own."""


class Scope(Message):
    """What a run does with each part of the install, in a stable order along the graph."""

    decisions: list[Decision]
    state_revision: int
    worker: WorkerDescription
    actions: list[TriggeredAction] = Field(default_factory=list)
    """What the release wants to be run by itself, in the order of their index and name."""
    provisioned: bool = False
    """The install was provisioned before."""


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
    """The names of those that are too large to travel. All values are in the store. Of very many
    names, the last entry of a list tells how many there are besides."""


class Plan(Message):
    """A plan, as approval needs it."""

    digest: Digest
    changes: ChangeCounts
    empty: bool
    """Nothing would change; the component is recorded as done, and there is nothing to apply."""
    state_revision: int
    outputs: Outputs = Field(default_factory=Outputs)
    """Only of an empty plan."""


class ApplyInput(OperationInput):
    """The input of an engine's apply activity."""

    plan_key: str
    """The key of the operation that made the plan."""
    digest: Digest
    """What was approved."""
    teardown: bool = False


class Applied(Message):
    """The result of an engine's apply activity."""

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
    """The key of the operation that made it, by which its view is read; empty where a control
    worker from before tells of it."""


class PartProgress(Message):
    """How far a run is with one part of the install."""

    component: PartName
    state: str
    """One word or two: `waits`, `working`, `waits for approval`, or an outcome."""
    words: str = ""
    """What it does, or why it ended so."""


class Progress(Message):
    """The answer of the query `progress`."""

    doing: str
    """What the run as a whole does, in a few words."""
    parts: list[PartProgress] = Field(default_factory=list)
    """In the order in which the run takes them."""


class Waiting(Message):
    """The answer of the query `waiting`."""

    waits_for: str
    """In one sentence: the turn, approvals, or nothing."""
    plans: list[WaitingPlan] = Field(default_factory=list)


_DAY = timedelta(days=1)
"""Above any tool's own timeout, which the supervisor enforces, plus waits for leases and memory."""

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
"""Started by itself, without a workflow; by the update `view`, within the run."""

MOST_VIEWS = 20
"""How many pages the update `view` gives of one run's plans: each lies in the run's history twice,
and a history that grows too large, like 2,000 updates, ends the run."""
