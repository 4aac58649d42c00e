"""One part of an install in a run: wait for what comes before, plan, ask, apply."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime

from temporalio import workflow
from temporalio.exceptions import ActivityError

from apps.display_text import shown
from apps.parts import SANDBOX, part_shown
from contracts import deploys
from contracts.activities import Activity
from contracts.deploys import (
    FEATURE_TERRAFORM,
    Applied,
    ApplyInput,
    ComponentOutcome,
    Decision,
    Grant,
    Plan,
    PlanInput,
    WaitingPlan,
)
from contracts.errors import ActionFailed, BadAnswer, Denied, NotUnderstood, StalePlan
from contracts.names import Name
from contracts.operations import FEATURE_STOP, StopInput
from contracts.provisions import FEATURE_PROVISION
from workflows.calls import call_operation
from workflows.failures import cut, in_words, typed_cause
from workflows.runs.approvals import Approvals
from workflows.runs.triggered import TriggeredActions

SETTLED = frozenset({"applied", "unchanged", "skipped", "torn down"})
"""Outcomes after which what comes next may begin."""


@dataclass(frozen=True)
class Engine:
    """The activities of one component type."""

    plan: Activity[PlanInput, Plan]
    apply: Activity[ApplyInput, Applied]
    feature: str


ENGINES: Mapping[str, Engine] = {
    "terraform_module": Engine(deploys.TERRAFORM_PLAN, deploys.TERRAFORM_APPLY, FEATURE_TERRAFORM)
}
"""The engine of each component type; a new engine is a new line here."""


@dataclass
class DeployState:
    """What the parts of one run share."""

    install: Name
    grant: Grant
    approvals: Approvals
    changed: Callable[[], None]
    """Called whenever a person would see something new."""
    state_revision: int
    seen: datetime
    """When the install worker was last heard of."""
    actions: TriggeredActions
    longest_reason: int = 10_000
    """Of an outcome, in characters: all of them together are told when the run ends."""
    outcomes: dict[str, ComponentOutcome] = field(default_factory=dict)
    running: dict[str, str] = field(default_factory=dict)
    """What each part does right now, in words."""


class ComponentRun:
    """Takes one part from its decision to its outcome; a failure of it is an outcome too."""

    def __init__(self, decision: Decision, state: DeployState) -> None:
        self._decision = decision
        self._state = state
        self._shown = part_shown(decision.component)
        self._ordinal = 0
        self._acted: set[str] = set()

    async def run(self) -> None:
        """Settle the part; raises only what cancels the whole run."""
        name = self._decision.component
        outcomes = self._state.outcomes
        await workflow.wait_condition(
            lambda: all(before in outcomes for before in self._decision.after)
        )
        try:
            outcome = await self._settle()
        except (ActivityError, Denied, NotUnderstood, ActionFailed, BadAnswer) as error:
            if workflow.cancellation_reason() is not None:
                raise
            outcome = self._outcome("failed", in_words(error))
        finally:
            self._state.running.pop(name, None)
        outcomes[name] = outcome
        self._state.changed()

    async def _settle(self) -> ComponentOutcome:
        outcomes = self._state.outcomes
        failed = [b for b in self._decision.after if outcomes[b].outcome not in SETTLED]
        if failed:
            return self._outcome("not attempted", f"{_listed(failed)} did not succeed")
        verb, reason = self._decision.verb, self._decision.reason
        if verb == "skip":
            applied = [b for b in self._decision.after if outcomes[b].outcome == "applied"]
            if not applied:
                return self._outcome("skipped", reason)
            reason = f"{_listed(applied)} changed"
        return await self._plan_and_apply(teardown=verb == "teardown", reason=reason)

    async def _plan_and_apply(self, *, teardown: bool, reason: str) -> ComponentOutcome:
        engine = ENGINES.get(self._decision.type)
        if engine is None:
            raise NotUnderstood(f"Deploying a {self._decision.type} is not there yet.")
        done = "torn down" if teardown else "applied"
        while True:
            plan_key = self._next_key("plan")
            plan = await self._plan(engine, plan_key, teardown)
            self._learn(plan.state_revision)
            if plan.empty:
                return self._outcome("torn down" if teardown else "unchanged", reason)
            await self._approved(plan, plan_key, teardown)
            await self._act("pre", teardown)
            try:
                applied = await self._apply(engine, plan, plan_key, teardown)
            except ActivityError as error:
                stale = typed_cause(error)
                if stale is None or stale.type != StalePlan.__name__:
                    raise
                reason = f"planned again: {cut(stale.message, self._state.longest_reason)}"
                continue
            self._learn(applied.state_revision)
            await self._act("post", teardown)
            return self._outcome(done, reason)

    async def _act(self, when: str, teardown: bool) -> None:
        """Run the actions of this component's trigger: once, however often it is planned again."""
        trigger = f"{when}-{'teardown' if teardown else 'deploy'}-component"
        if trigger not in self._acted and self._decision.component != SANDBOX:
            self._acted.add(trigger)
            self._say(f"running the actions of {trigger}")
            await self._state.actions.run(trigger, self._decision.component)

    async def _plan(self, engine: Engine, key: str, teardown: bool) -> Plan:
        self._say("planning the teardown" if teardown else "planning")
        return await call_operation(
            engine.plan,
            PlanInput(**self._operation(engine, key), teardown=teardown),
            stop=self._stop(key),
            stopping=self._stopping,
            summary=f"plan {'the teardown of ' if teardown else ''}{self._shown}",
        )

    async def _approved(self, plan: Plan, plan_key: str, teardown: bool) -> None:
        self._say(f"{plan.changes}; {plan.digest}")
        waiting = WaitingPlan(
            component=self._decision.component,
            digest=plan.digest,
            teardown=teardown,
            changes=plan.changes,
            plan_key=plan_key,
        )
        asked = self._state.approvals.ask(waiting)
        approved, said = await asked
        if not approved:
            by = f" by {shown(said.by)}" if said.by else ""
            why = f": {shown(said.reason)}" if said.reason else "."
            raise Denied(f"The plan {plan.digest} was denied{by}{why}")

    async def _apply(self, engine: Engine, plan: Plan, plan_key: str, teardown: bool) -> Applied:
        self._say("tearing down" if teardown else "applying")
        key = self._next_key("apply")
        return await call_operation(
            engine.apply,
            ApplyInput(
                **self._operation(engine, key),
                plan_key=plan_key,
                digest=plan.digest,
                teardown=teardown,
            ),
            stop=self._stop(key),
            stopping=self._stopping,
            summary=f"{'tear down' if teardown else 'apply'} {self._shown}",
        )

    def _stop(self, key: str) -> StopInput:
        return StopInput(
            requires=[FEATURE_STOP],
            install=self._state.install,
            subject=self._decision.component,
            key=key,
            turn=self._state.grant.turn,
        )

    def _stopping(self) -> None:
        self._say("**cancelled**: waits for the install worker to say that its tool has stopped")

    def _operation(self, engine: Engine, key: str) -> dict[str, object]:
        return {
            "requires": self._features(engine),
            "install": self._state.install,
            "app": self._state.grant.app,
            "release": self._decision.release,
            "component": self._decision.component,
            "key": key,
            "turn": self._state.grant.turn,
            "inputs_revision": self._state.grant.inputs.revision,
            "state_revision": self._state.state_revision,
        }

    def _features(self, engine: Engine) -> list[str]:
        is_sandbox = self._decision.component == SANDBOX
        return [engine.feature, FEATURE_PROVISION] if is_sandbox else [engine.feature]

    def _next_key(self, verb: str) -> str:
        self._ordinal += 1
        first_run = workflow.info().first_execution_run_id
        return f"{first_run}/{self._decision.component}/{verb}/{self._ordinal}"

    def _learn(self, revision: int) -> None:
        self._state.state_revision = max(self._state.state_revision, revision)
        self._state.seen = workflow.now()

    def _say(self, doing: str) -> None:
        self._state.running[self._decision.component] = doing
        self._state.changed()

    def _outcome(self, outcome: str, reason: str) -> ComponentOutcome:
        return ComponentOutcome.model_validate(
            {
                "component": self._decision.component,
                "outcome": outcome,
                "reason": cut(reason, self._state.longest_reason),
            }
        )


def _listed(parts: list[str]) -> str:
    return ", ".join(part_shown(one) for one in parts)
