"""Deploy: one release to one install, its components in parallel along their graph."""

import asyncio
from datetime import datetime

from temporalio import exceptions, workflow
from temporalio.exceptions import ActivityError, TimeoutType

from contracts import deploys, releases
from contracts.deploys import (
    FEATURE_DEPLOY,
    Approval,
    ComponentOutcome,
    DeployInput,
    DeployResult,
    FinishInput,
    Grant,
    PlanView,
    Scope,
    ScopeInput,
    ViewInput,
    ViewRequest,
    Waiting,
    WaitingPlan,
)
from contracts.errors import DeployFailed, Unreachable
from contracts.installs import RunTurn
from contracts.messages import WorkerDescription
from contracts.names import Digest, install_queue
from contracts.releases import ReadRelease
from workflows.approvals import Approvals
from workflows.calls import call, call_local, failing_as_its_activity
from workflows.component import SETTLED, ComponentRun, DeployState
from workflows.identity import require_id, show, show_at_first, showing_its_end
from workflows.turns import RunsTurn


@workflow.defn(name="Deploy")
class Deploy:
    """Takes its turn, reads the release's graph, and settles every component."""

    def __init__(self) -> None:
        self._turn = RunsTurn()
        self._approvals = Approvals(self._show)
        self._install = ""
        self._state: DeployState | None = None
        self._worker: WorkerDescription | None = None
        self._deployed: Digest | None = None
        self._shown = ("", "")
        """Status and component, as the search attributes have them."""

    @workflow.run
    async def run(self, input: DeployInput) -> DeployResult:
        """Deploy the release; fails with every component's failure named."""
        require_id("deploy", input.install)
        self._install = input.install
        if input.grant is None:
            show(install=input.install, release=input.release, status="waiting for its turn")
        self._show_details()
        try:
            with showing_its_end(), failing_as_its_activity():
                grant = await self._turn.take(input.install, input.grant)
                outcomes = await self._deploy(input, grant)
            await workflow.wait_condition(workflow.all_handlers_finished)
        finally:
            await self._turn.give_back(input.install, release=self._deployed, worker=self._worker)
        return DeployResult(install=input.install, release=input.release, components=outcomes)

    async def _deploy(self, input: DeployInput, grant: Grant) -> list[ComponentOutcome]:
        show_at_first(
            app=grant.app, install=input.install, release=input.release, status="deploying"
        )
        self._shown = ("deploying", "")
        if grant.read != input.release:
            await call_local(
                releases.READ,
                ReadRelease(app=grant.app, release=input.release),
                summary="read the release's graph",
            )
        scope = await self._scope(input, grant)
        self._worker = scope.worker
        state = DeployState(
            install=input.install,
            grant=grant,
            approvals=self._approvals,
            changed=self._show,
            state_revision=scope.state_revision,
            seen=workflow.now(),
        )
        self._state = state
        runs = [ComponentRun(decision, state).run() for decision in scope.decisions]
        # A failure is an outcome; what is raised here cancels the deploy, after all have stopped.
        for raised in await asyncio.gather(*runs, return_exceptions=True):
            if isinstance(raised, BaseException):
                raise raised
        outcomes = [state.outcomes[decision.component] for decision in scope.decisions]
        _raise_failures(outcomes)
        await self._finish(input, grant)
        self._deployed = input.release
        show(status="deployed")
        return outcomes

    async def _scope(self, input: DeployInput, grant: Grant) -> Scope:
        return await call(
            deploys.SCOPE,
            ScopeInput(
                requires=[FEATURE_DEPLOY],
                install=input.install,
                app=grant.app,
                release=input.release,
                turn=grant.turn,
                inputs=grant.inputs,
            ),
            queue=install_queue(input.install),
            summary="what this deploy does with each component",
        )

    async def _finish(self, input: DeployInput, grant: Grant) -> None:
        await call(
            deploys.FINISH,
            FinishInput(
                requires=[FEATURE_DEPLOY],
                install=input.install,
                app=grant.app,
                release=input.release,
                turn=grant.turn,
            ),
            queue=install_queue(input.install),
            summary="record the release",
        )

    @workflow.update
    async def approve(self, approval: Approval) -> WaitingPlan:
        """Approve the waiting plan with this digest."""
        return self._decide(approval, approved=True)

    @approve.validator
    def _validate_approve(self, approval: Approval) -> None:
        self._approvals.refuse_other(approval.digest)

    @workflow.update
    async def deny(self, approval: Approval) -> WaitingPlan:
        """Deny the waiting plan with this digest: its component fails, its siblings go on."""
        return self._decide(approval, approved=False)

    @deny.validator
    def _validate_deny(self, approval: Approval) -> None:
        self._approvals.refuse_other(approval.digest)

    def _decide(self, approval: Approval, *, approved: bool) -> WaitingPlan:
        return self._approvals.decide(approval, approved)

    @workflow.update
    async def view(self, request: ViewRequest) -> PlanView:
        """One page of the plan that waits with this digest, read from the worker."""
        plan, plan_key = self._approvals.find(request.digest)
        asked = ViewInput(
            requires=[FEATURE_DEPLOY],
            install=self._install,
            component=plan.component,
            plan_key=plan_key,
            page=request.page,
        )
        queue, summary = install_queue(self._install), f"the plan of {plan.component}"
        with failing_as_its_activity():
            try:
                return await call(deploys.VIEW, asked, queue=queue, summary=summary)
            except ActivityError as error:
                if not _was_never_started(error):
                    raise
                raise _away(self._install, self._state) from error

    @view.validator
    def _validate_view(self, request: ViewRequest) -> None:
        self._approvals.refuse_other(request.digest)

    @workflow.signal
    def grant_turn(self, grant: Grant) -> None:
        """The Install workflow gives this run its turn."""
        self._turn.granted(grant)

    @workflow.query
    def turn(self) -> RunTurn:
        """How this run stands to the install's turn."""
        return self._turn.view()

    @workflow.query
    def waiting(self) -> Waiting:
        """What this run waits for."""
        if self._turn.is_wanted:
            return Waiting(waits_for="its turn: another run changes the install")
        plans = self._approvals.waiting()
        return Waiting(waits_for="approvals" if plans else "nothing", plans=plans)

    def _show(self) -> None:
        """Tell a person what is new: the details, and, where that changes, the status."""
        self._show_details()
        plans = self._approvals.waiting()
        now = ("waits for approval", plans[0].component) if plans else ("deploying", "")
        if workflow.cancellation_reason() is not None:
            now = ("cancelling", "")
        if now != self._shown:
            self._shown = now
            show(status=now[0], component=now[1])

    def _show_details(self) -> None:
        workflow.set_current_details(_details(self._state, self._turn.is_wanted))


def _was_never_started(error: ActivityError) -> bool:
    why = error.cause
    return isinstance(why, exceptions.TimeoutError) and why.type == TimeoutType.SCHEDULE_TO_START


def _away(install: str, state: DeployState | None) -> Unreachable:
    seen: datetime | None = state.seen if state else None
    last = f"; it was last heard of at {seen:%Y-%m-%d %H:%M:%S} UTC" if seen else ""
    return Unreachable(
        f"The install worker of {install} is away, or too busy to answer{last}. Plans are kept "
        "there: start it, and ask again. The deploy goes on waiting."
    )


def _raise_failures(outcomes: list[ComponentOutcome]) -> None:
    failures = [one for one in outcomes if one.outcome not in SETTLED]
    if failures:
        lines = [f"{one.component} {one.outcome}: {one.reason}" for one in failures]
        raise DeployFailed("\n".join(lines), [one.model_dump() for one in outcomes])


def _details(state: DeployState | None, waits_for_turn: bool) -> str:
    """What the Temporal UI shows of the run: a line a component, what waits first."""
    if state is None:
        return "Waits for its turn." if waits_for_turn else "Starting."
    lines = [
        f"- **{plan.component}** waits for an approval: `{plan.digest}` ({plan.changes})"
        for plan in state.approvals.waiting()
    ]
    asked = {plan.component for plan in state.approvals.waiting()}
    lines += [f"- {name}: {doing}" for name, doing in state.running.items() if name not in asked]
    lines += [
        f"- {one.component}: {one.outcome}" + (f" ({one.reason})" if one.reason else "")
        for one in state.outcomes.values()
    ]
    return "\n".join(lines) or "Nothing to do yet."
