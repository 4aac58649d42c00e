"""Engines: what deploys the parts of an install. Each is declared once, here.

An engine is its `EngineSpec` in `ENGINES`, and a folder in `activities/`, whose registration
(`activities.engines.Engine`) names the spec; install workers list those in `workers/engines.py`.
The workflows, a worker's registration and features, the customer's policy, the checks of an app
config and the doctor derive from these.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from apps.environment import ToolVariables
from contracts import deploys
from contracts.activities import Activity
from contracts.deploys import Applied, ApplyInput, Plan, PlanInput, RunInput

if TYPE_CHECKING:
    from apps.deployable import Deployable

_MIB: Final = 1024 * 1024


@dataclass(frozen=True)
class PlanAndApply:
    """The work of an engine that plans: what was approved is what is applied."""

    plan: Activity[PlanInput, Plan]
    apply: Activity[ApplyInput, Applied]

    @property
    def activities(self) -> tuple[Activity[Any, Any], ...]:
        """Both."""
        return self.plan, self.apply


@dataclass(frozen=True)
class RunToTheEnd:
    """The work of an engine without a plan, such as a job or the copy of an image."""

    run: Activity[RunInput, Applied]

    @property
    def activities(self) -> tuple[Activity[Any, Any], ...]:
        """The only one."""
        return (self.run,)


@dataclass(frozen=True, eq=False)
class EngineSpec:
    """The declaration of an engine."""

    name: str
    """As people and the doctor call it."""
    types: tuple[str, ...]
    """The component types that it deploys."""
    feature: str
    """What a worker that has it announces, and what each input of its work requires."""
    work: PlanAndApply | RunToTheEnd
    """To the customer's policy, each of its activities is the operation of the part: a provision or
    a deploy, a teardown or a deprovision."""
    tool_bytes: int
    """What one more of its tools is taken to need of the machine's memory."""
    makes_sandbox: bool = False
    """Whether it also makes sandboxes that are deployed as one of its types."""
    variables: ToolVariables = field(default_factory=ToolVariables)
    """The environment variables that decide how its tool works."""
    only_copies: Mapping[str, str] = field(default_factory=dict)
    """Files of a working folder that are never removed with it, since what they hold may be nowhere
    else: by their name, what each is."""


ERRORED_STATE: Final = "errored.tfstate"
"""Where Terraform leaves a state that it could not write: the only copy of it."""

TERRAFORM: Final = EngineSpec(
    name="terraform",
    types=("terraform_module",),
    feature=deploys.FEATURE_TERRAFORM,
    work=PlanAndApply(deploys.TERRAFORM_PLAN, deploys.TERRAFORM_APPLY),
    # With a cloud's provider it takes 620 MB, most of it the provider's schema.
    tool_bytes=700 * _MIB,
    makes_sandbox=True,
    variables=ToolVariables(refused=("TF_",), free=("TF_VAR_",)),
    only_copies={ERRORED_STATE: "a state that Terraform could not write to its place"},
)

ENGINES: Final = (TERRAFORM,)
"""Those that are shipped."""


def by_type(engines: Iterable[EngineSpec]) -> dict[str, EngineSpec]:
    """The engine of each component type."""
    return {one: engine for engine in engines for one in engine.types}


def deployable(engines: Iterable[EngineSpec]) -> "Deployable":
    """What the app config is checked for: the parts that these engines deploy."""
    # An idle worker reads no app config.
    from apps.deployable import Deployable  # noqa: PLC0415

    known = by_type(engines)
    return Deployable(
        variables={one: engine.variables for one, engine in known.items()},
        sandboxes={one for one, engine in known.items() if engine.makes_sandbox},
    )


def only_copies(engines: Iterable[EngineSpec]) -> dict[str, str]:
    """The files that no folder is removed with, by name, and what each is."""
    return {name: what for engine in engines for name, what in engine.only_copies.items()}
