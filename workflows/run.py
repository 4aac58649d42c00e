"""What every run that changes an install has in common: its turn, its parts, its approvals."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from datetime import datetime
from typing import TypeVar

from temporalio import exceptions, workflow
from temporalio.exceptions import ActivityError, ApplicationError, TimeoutType

from apps.display_text import shown_markdown
from apps.parts import part_shown
from contracts import deploys, releases
from contracts.activities import Activity
from contracts.deploys import (
    FEATURE_DEPLOY,
    MOST_VIEWS,
    Approval,
    ComponentOutcome,
    Decision,
    Grant,
    PartProgress,
    PlanView,
    Progress,
    Scope,
    ScopeInput,
    ViewInput,
    ViewRequest,
    Waiting,
    WaitingPlan,
)
from contracts.errors import BadInput, DeployFailed, Unreachable
from contracts.installs import RunTurn
from contracts.names import Digest, Name, install_queue
from contracts.releases import ReadRelease
from workflows.approvals import Approvals
from workflows.calls import (
    LONGEST_FAILURE,
    call,
    call_control,
    cut,
    end_if_cancelled,
    failing_as_its_activity,
    without_local_activities,
)
from workflows.component import SETTLED, ComponentRun, DeployState
from workflows.decisions import refuse_endless
from workflows.search_attributes import show, show_at_first, showing_its_end
from workflows.triggered import TriggeredActions, set_schedules
from workflows.turns import Learnt, RunsTurn
from workflows.words import require_words

R = TypeVar("R")

_ALL_REASONS = 200_000
"""What all outcomes of a run say together, in characters: they lie in its history, and go to
Install."""
_LONGEST_REASON = 10_000
"""As much as the last lines of a tool take."""
_SHORTEST_REASON = 200


class InstallRun:
    """Takes the install's turn, settles parts of it, and tells what it waits for.

    A kind of run is a class below this one: it calls `hold_turn` with what it does in its turn.
    """

    working = "working"
    """The status while nothing waits, as the search attribute has it."""

    def __init__(self) -> None:
        self._turn = RunsTurn()
        self._approvals = Approvals(self._show)
        self._install = ""
        self._doing = "starting"
        self._decisions: list[Decision] = []
        self._state: DeployState | None = None
        self._learnt = Learnt()
        self._views = 0
        """How many pages of plans the update `view` was asked for."""
        self._shown = ("", "")
        """Status and component, as the search attributes have them."""

    async def hold_turn(
        self,
        install: Name,
        release: Digest | None,
        given: Grant | None,
        body: Callable[[Grant], Awaitable[R]],
    ) -> R:
        """Do `body` in the install's turn, and give the turn back whatever happens.

        Raises:
            ExclaveError: as the body's activities typed it.
        """
        self._install = install
        self._learnt.target = release
        if given is None:
            show(install=install, release=release, status="waiting for its turn")
        self._show_details()
        try:
            with showing_its_end(), failing_as_its_activity():
                grant = await self._turn.take(install, release, given)
                result = await body(grant)
            await workflow.wait_condition(workflow.all_handlers_finished)
        except ApplicationError as error:
            self._learnt.failure = cut(f"{error.type}: {error.message}", LONGEST_FAILURE)
            raise
        finally:
            self._learnt.outcomes = self._outcomes()
            await self._turn.give_back(install, self._learnt)
        return result

    async def scope(
        self,
        activity: Activity[ScopeInput, Scope],
        feature: str,
        release: Digest,
        grant: Grant,
        *,
        summary: str,
    ) -> Scope:
        """Have the worker decide what the run does with each part that the release brings.

        The release is read first, unless Install has done so: another app's is refused.
        """
        show_at_first(app=grant.app, install=self._install, release=release, status=self.working)
        if grant.read != release:
            await call_control(
                releases.READ,
                ReadRelease(app=grant.app, release=release),
                local=not without_local_activities(),
                summary="read the release's graph",
            )
        return await call(
            activity,
            ScopeInput(
                requires=[feature],
                install=self._install,
                app=grant.app,
                release=release,
                turn=grant.turn,
                inputs=grant.inputs,
            ),
            queue=install_queue(self._install),
            summary=summary,
        )

    def began(self, scope: Scope, grant: Grant, release: Digest | None) -> TriggeredActions:
        """Take in what the worker told of the run; returns the actions that belong to it."""
        actions = TriggeredActions(self._install, grant.app, release, scope.actions)
        self._learnt.worker = scope.worker
        self._decisions = scope.decisions
        self._state = DeployState(
            install=self._install,
            grant=grant,
            approvals=self._approvals,
            changed=self._show,
            state_revision=scope.state_revision,
            seen=workflow.now(),
            actions=actions,
            longest_reason=min(
                _LONGEST_REASON, max(_SHORTEST_REASON, _ALL_REASONS // (len(scope.decisions) or 1))
            ),
        )
        self._shown = (self.working, "")
        return actions

    async def settle(self, decisions: Sequence[Decision]) -> None:
        """Take every part from its decision to its outcome, in parallel along the graph.

        Raises:
            BadAnswer: some of it waits for what is settled later.
            DeployFailed: with every part that failed, once all that was begun has ended.
        """
        state = self._state
        if state is None:
            raise AssertionError("the run has begun")
        end_if_cancelled()
        refuse_endless(decisions, state.outcomes)
        self.say("working on its parts")
        runs = [ComponentRun(decision, state).run() for decision in decisions]
        # A failure is an outcome; what is raised here cancels the run, after all have stopped.
        for raised in await asyncio.gather(*runs, return_exceptions=True):
            if isinstance(raised, BaseException):
                raise raised
        outcomes = [state.outcomes[decision.component] for decision in decisions]
        failures = [one for one in outcomes if one.outcome not in SETTLED]
        if failures:
            lines = [f"{part_shown(one.component)} {one.outcome}: {one.reason}" for one in failures]
            raise DeployFailed("\n".join(lines), [one.model_dump() for one in outcomes])

    async def act(self, actions: TriggeredActions, trigger: str) -> None:
        """Run the actions of a trigger; raises ActionFailed."""
        self.say(f"running the actions of {trigger}")
        await actions.run(trigger)

    async def set_schedules(self, grant: Grant, scope: Scope, release: Digest) -> None:
        """Have the release's actions run by the clock."""
        self._learnt.schedules = await set_schedules(
            self._install, grant.app, scope.actions, grant.schedules, release
        )

    def say(self, doing: str) -> None:
        """Tell what the run as a whole does now."""
        self._doing = doing
        self._show()

    def _outcomes(self) -> list[ComponentOutcome]:
        outcomes = self._state.outcomes if self._state else {}
        return [outcomes[one.component] for one in self._decisions if one.component in outcomes]

    @workflow.update
    async def approve(self, approval: Approval) -> WaitingPlan:
        """Approve the waiting plan with this digest."""
        return self._approvals.decide(approval, approved=True)

    @approve.validator
    def _validate_approve(self, approval: Approval) -> None:
        require_words(by=approval.by, reason=approval.reason)
        self._approvals.refuse_other(approval.digest)

    @workflow.update
    async def deny(self, approval: Approval) -> WaitingPlan:
        """Deny the waiting plan with this digest: its part fails, its siblings go on."""
        return self._approvals.decide(approval, approved=False)

    @deny.validator
    def _validate_deny(self, approval: Approval) -> None:
        require_words(by=approval.by, reason=approval.reason)
        self._approvals.refuse_other(approval.digest)

    @workflow.update
    async def view(self, request: ViewRequest) -> PlanView:
        """One page of the plan that waits with this digest, read from the worker.

        For who has nothing but the `temporal` CLI, and for commands from before: a page lies in the
        history twice. The others have the worker asked by itself, with what `waiting` tells.
        """
        self._views += 1
        plan = self._approvals.find(request.digest)
        asked = ViewInput(
            requires=[FEATURE_DEPLOY],
            install=self._install,
            component=plan.component,
            plan_key=plan.plan_key,
            page=request.page,
        )
        queue, summary = install_queue(self._install), f"the plan of {part_shown(plan.component)}"
        with failing_as_its_activity():
            try:
                # The one who asks has no part in the cancel of the run.
                return await call(
                    deploys.VIEW, asked, queue=queue, summary=summary, although_cancelled=True
                )
            except ActivityError as error:
                if not _was_never_started(error):
                    raise
                raise _away(self._install, self._state) from error

    @view.validator
    def _validate_view(self, request: ViewRequest) -> None:
        self._approvals.refuse_other(request.digest)
        if self._views >= MOST_VIEWS:
            raise BadInput(
                f"This run has shown {MOST_VIEWS} pages of its plans by this update, and shows no "
                "more: each stays in its history, which would end the run. Read them with `exclave "
                f"plan {workflow.info().workflow_id}`, of a version that asks the install's worker "
                "itself; it leaves nothing in the history."
            )

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

    @workflow.query
    def progress(self) -> Progress:
        """How far the run is with each part."""
        doing = "waiting for its turn" if self._turn.is_wanted else self._doing
        return Progress(doing=doing, parts=[self._part(one) for one in self._decisions])

    def _part(self, decision: Decision) -> PartProgress:
        name, state = decision.component, self._state
        if state is None or (name not in state.outcomes and name not in state.running):
            after = ", ".join(part_shown(one) for one in decision.after)
            words = f"for {after}" if after else decision.reason
            return PartProgress(component=name, state="waits", words=words)
        if name in state.outcomes:
            outcome = state.outcomes[name]
            return PartProgress(component=name, state=outcome.outcome, words=outcome.reason)
        asked = any(plan.component == name for plan in state.approvals.waiting())
        words = state.running[name]
        return PartProgress(
            component=name, state="waits for approval" if asked else "working", words=words
        )

    def _show(self) -> None:
        """Tell a person what is new: the details, and, where that changes, the status."""
        self._show_details()
        plans = self._approvals.waiting()
        now = (
            ("waits for approval", part_shown(plans[0].component))
            if plans
            else (
                self.working,
                "",
            )
        )
        if workflow.cancellation_reason() is not None:
            now = ("cancelling", "")
        if now != self._shown:
            self._shown = now
            show(status=now[0], component=now[1])

    def _title(self) -> str:
        """What the run is about, and what it does as a whole."""
        app = f"{self._state.grant.app} on " if self._state else ""
        target = self._learnt.target
        release = f", release `{target[:19]}`" if target else ""
        return f"**{self.working.capitalize()}** {app}{self._install}{release}: {self._doing}"

    def _show_details(self) -> None:
        workflow.set_current_details(
            _details(self._title(), self._state, self._decisions, self._turn.is_wanted)
        )


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


def _details(
    title: str, state: DeployState | None, decisions: Sequence[Decision], waits_for_turn: bool
) -> str:
    """What the Temporal UI shows of the run: its title, what waits, then a line for each part."""
    if state is None:
        waits = "\n\nIt **waits for its turn**: another run changes the install."
        return title + (waits if waits_for_turn else "")
    waiting = state.approvals.waiting()
    lines = [
        f"- **{part_shown(plan.component)}** waits for an approval: `{plan.digest}` "
        f"({plan.changes})"
        for plan in waiting
    ]
    asked = {plan.component for plan in waiting}
    lines += [
        f"- {part_shown(name)}: {words}"
        for name, words in state.running.items()
        if name not in asked
    ]
    lines += [
        f"- {part_shown(one.component)}: {one.outcome}"
        + (f" ({shown_markdown(one.reason)})" if one.reason else "")
        for one in state.outcomes.values()
    ]
    begun = {*state.running, *state.outcomes}
    later = [part_shown(one.component) for one in decisions if one.component not in begun]
    lines += [f"- later: {', '.join(later)}"] if later else []
    return "\n".join([title, "", *lines])
