"""One part of an install in a run: wait for what comes before, plan, ask, apply."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime

from temporalio import workflow
from temporalio.exceptions import ActivityError

from apps.display_text import shown
from apps.parts import SANDBOX, part_shown
from contracts.deploys import (
    Applied,
    ApplyInput,
    ComponentOutcome,
    Decision,
    Grant,
    Plan,
    PlanInput,
    RunInput,
    WaitingPlan,
)
from contracts.engines import EngineSpec, PlanAndApply, RunToTheEnd
from contracts.errors import ActionFailed, BadAnswer, Denied, NotUnderstood, StalePlan
from contracts.names import Name
from contracts.operations import FEATURE_STOP, StopInput
from contracts.provisions import FEATURE_PROVISION
from workflows.calls import call_operation
from workflows.failures import cut, in_words, typed_cause
from workflows.runs.approvals import Approvals
from workflows.runs.triggered import TriggeredActions

SETTLED = frozenset({"applied", "unchanged", "skipped", "torn down"})
"""Outcomes after which the parts that wait for this one may start."""


@dataclass
class RunState:
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
    engines: Mapping[str, EngineSpec]
    """The engines by component type."""
    longest_reason: int = 10_000
    """Limit for the reason of an outcome, in characters: Install gets all of them when the run
    ends."""
    outcomes: dict[str, ComponentOutcome] = field(default_factory=dict)
    running: dict[str, str] = field(default_factory=dict)
    """What each part is doing right now, in words."""


class PartRun:
    """Takes one part from its decision to its outcome; its failure is an outcome as well."""

    def __init__(self, decision: Decision, state: RunState) -> None:
        self._decision = decision
        self._state = state
        self._shown = part_shown(decision.component)
        self._ordinal = 0
        self._acted: set[str] = set()

    async def run(self) -> None:
        """Settle the part; raises only if the whole run is cancelled."""
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
        engine, teardown = self._engine(), verb == "teardown"
        if isinstance(engine.work, RunToTheEnd):
            return await self._run_to_the_end(engine.work, teardown=teardown, reason=reason)
        return await self._plan_and_apply(engine.work, teardown=teardown, reason=reason)

    def _engine(self) -> EngineSpec:
        engine = self._state.engines.get(self._decision.type)
        if engine is None:
            raise NotUnderstood(f"Deploying a {self._decision.type} is not supported yet.")
        return engine

    async def _run_to_the_end(
        self, work: RunToTheEnd, *, teardown: bool, reason: str
    ) -> ComponentOutcome:
        await self._act("pre", teardown)
        key = self._begin_change("run", teardown)
        done = await call_operation(
            work.run,
            RunInput(**self._operation(key), teardown=teardown),
            stop=self._stop(key),
            stopping=self._stopping,
            summary=self._change_summary(teardown),
        )
        return await self._changed(done, teardown, reason)

    async def _plan_and_apply(
        self, work: PlanAndApply, *, teardown: bool, reason: str
    ) -> ComponentOutcome:
        while True:
            plan_key = self._next_key("plan")
            plan = await self._plan(work, plan_key, teardown)
            self._learn(plan.state_revision)
            if plan.empty:
                return self._outcome("torn down" if teardown else "unchanged", reason)
            await self._approved(plan, plan_key, teardown)
            await self._act("pre", teardown)
            try:
                applied = await self._apply(work, plan, plan_key, teardown)
            except ActivityError as error:
                stale = typed_cause(error)
                if stale is None or stale.type != StalePlan.__name__:
                    raise
                reason = f"planned again: {cut(stale.message, self._state.longest_reason)}"
                continue
            return await self._changed(applied, teardown, reason)

    async def _changed(self, applied: Applied, teardown: bool, reason: str) -> ComponentOutcome:
        self._learn(applied.state_revision)
        await self._act("post", teardown)
        return self._outcome("torn down" if teardown else "applied", reason)

    async def _act(self, when: str, teardown: bool) -> None:
        """Run the actions of this component's trigger; only once, even if it is planned again."""
        trigger = f"{when}-{'teardown' if teardown else 'deploy'}-component"
        if trigger not in self._acted and self._decision.component != SANDBOX:
            self._acted.add(trigger)
            self._show(f"running the actions of {trigger}")
            await self._state.actions.run(trigger, self._decision.component)

    async def _plan(self, work: PlanAndApply, key: str, teardown: bool) -> Plan:
        self._show("planning the teardown" if teardown else "planning")
        return await call_operation(
            work.plan,
            PlanInput(**self._operation(key), teardown=teardown),
            stop=self._stop(key),
            stopping=self._stopping,
            summary=f"plan {'the teardown of ' if teardown else ''}{self._shown}",
        )

    async def _approved(self, plan: Plan, plan_key: str, teardown: bool) -> None:
        self._show(f"{plan.changes}; {plan.digest}")
        waiting = WaitingPlan(
            component=self._decision.component,
            digest=plan.digest,
            teardown=teardown,
            changes=plan.changes,
            plan_key=plan_key,
        )
        approved, answer = await self._state.approvals.ask(waiting)
        if not approved:
            by = f" by {shown(answer.by)}" if answer.by else ""
            why = f": {shown(answer.reason)}" if answer.reason else "."
            raise Denied(f"The plan {plan.digest} was denied{by}{why}")

    async def _apply(
        self, work: PlanAndApply, plan: Plan, plan_key: str, teardown: bool
    ) -> Applied:
        key = self._begin_change("apply", teardown)
        return await call_operation(
            work.apply,
            ApplyInput(
                **self._operation(key),
                plan_key=plan_key,
                digest=plan.digest,
                teardown=teardown,
            ),
            stop=self._stop(key),
            stopping=self._stopping,
            summary=self._change_summary(teardown),
        )

    def _begin_change(self, verb: str, teardown: bool) -> str:
        """Show that the part is being changed; returns the key of the operation."""
        self._show("tearing down" if teardown else "applying")
        return self._next_key(verb)

    def _change_summary(self, teardown: bool) -> str:
        return f"{'tear down' if teardown else 'apply'} {self._shown}"

    def _stop(self, key: str) -> StopInput:
        return StopInput(
            requires=[FEATURE_STOP],
            install=self._state.install,
            subject=self._decision.component,
            key=key,
            turn=self._state.grant.turn,
        )

    def _stopping(self) -> None:
        self._show("**cancelled**: waits for the install worker to say that its tool has stopped")

    def _operation(self, key: str) -> dict[str, object]:
        return {
            "requires": self._features(),
            "install": self._state.install,
            "app": self._state.grant.app,
            "release": self._decision.release,
            "component": self._decision.component,
            "key": key,
            "turn": self._state.grant.turn,
            "inputs_revision": self._state.grant.inputs.revision,
            "state_revision": self._state.state_revision,
        }

    def _features(self) -> list[str]:
        feature = self._engine().feature
        is_sandbox = self._decision.component == SANDBOX
        return [feature, FEATURE_PROVISION] if is_sandbox else [feature]

    def _next_key(self, verb: str) -> str:
        self._ordinal += 1
        first_run = workflow.info().first_execution_run_id
        return f"{first_run}/{self._decision.component}/{verb}/{self._ordinal}"

    def _learn(self, revision: int) -> None:
        self._state.state_revision = max(self._state.state_revision, revision)
        self._state.seen = workflow.now()

    def _show(self, doing: str) -> None:
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
