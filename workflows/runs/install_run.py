"""What every run that changes an install has in common: its turn, its parts, its approvals."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import ClassVar, TypeVar

from temporalio import workflow
from temporalio.exceptions import ApplicationError

from apps.parts import part_shown
from contracts import releases
from contracts.activities import Activity
from contracts.deploys import (
    Approval,
    ComponentOutcome,
    Decision,
    Grant,
    PlanView,
    Progress,
    Scope,
    ScopeInput,
    ViewRequest,
    Waiting,
    WaitingPlan,
)
from contracts.engines import ENGINES, EngineSpec, by_type
from contracts.errors import DeployFailed
from contracts.installs import RunTurn
from contracts.names import Digest, Name, install_queue
from contracts.releases import ReadRelease
from workflows.calls import call, call_control, end_if_cancelled, without_local_activities
from workflows.failures import LONGEST_FAILURE, cut, failing_as_its_activity
from workflows.runs.approvals import Approvals
from workflows.runs.decisions import refuse_endless
from workflows.runs.part import SETTLED, PartRun, RunState
from workflows.runs.plan_pages import read_page, refuse_more_pages
from workflows.runs.progress import part_progress, run_details
from workflows.runs.triggered import TriggeredActions, set_schedules
from workflows.runs.turn import Learnt, RunsTurn
from workflows.search_attributes import show, show_at_first, showing_its_end
from workflows.words import require_words

R = TypeVar("R")

_ALL_REASONS = 200_000
"""Limit for the reasons of all outcomes of a run together, in characters: they are kept in its
history, and are sent to Install."""
_LONGEST_REASON = 10_000
"""Enough for the last lines of a tool's output."""
_SHORTEST_REASON = 200


class InstallRun:
    """Takes the install's turn, settles its parts, and shows what it waits for.

    Each kind of run is a subclass, which calls `hold_turn` with what it does in its turn.
    """

    working = "working"
    """The status to show while the run waits for nobody."""
    engines: ClassVar[Mapping[str, EngineSpec]] = by_type(ENGINES)
    """By component type; the control worker sets it before it takes tasks, the same for all."""

    def __init__(self) -> None:
        self._turn = RunsTurn()
        self._approvals = Approvals(self._show)
        self._install = ""
        self._doing = "starting"
        self._decisions: list[Decision] = []
        self._state: RunState | None = None
        self._learnt = Learnt()
        self._views = 0
        """How many pages of plans the update `view` has read."""
        self._shown = ("", "")
        """The status and component that the search attributes show."""

    async def hold_turn(
        self,
        install: Name,
        release: Digest | None,
        given: Grant | None,
        body: Callable[[Grant], Awaitable[R]],
    ) -> R:
        """Run `body` in the install's turn, and give the turn back whatever happens.

        Raises:
            ExclaveError: the typed error of one of the body's activities.
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
        """Have the worker decide what the run does with each part of the release.

        Unless Install has done so already, the release is read first, which refuses one of another
        app.
        """
        show_at_first(app=grant.app, install=self._install, release=release, status=self.working)
        requires = [feature]
        if grant.read != release:
            graph = await call_control(
                releases.READ,
                ReadRelease(app=grant.app, release=release),
                local=not without_local_activities(),
                summary="read the release's graph",
            )
            requires += graph.requires
        return await call(
            activity,
            ScopeInput(
                requires=requires,
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
        """Take in what the worker has decided; returns the actions that belong to the run."""
        actions = TriggeredActions(self._install, grant.app, release, scope.actions)
        self._learnt.worker = scope.worker
        self._decisions = scope.decisions
        self._state = RunState(
            install=self._install,
            grant=grant,
            approvals=self._approvals,
            changed=self._show,
            state_revision=scope.state_revision,
            seen=workflow.now(),
            actions=actions,
            engines=self.engines,
            longest_reason=min(
                _LONGEST_REASON, max(_SHORTEST_REASON, _ALL_REASONS // (len(scope.decisions) or 1))
            ),
        )
        self._shown = (self.working, "")
        return actions

    async def settle(self, decisions: Sequence[Decision]) -> None:
        """Take every part from its decision to its outcome, in parallel along the graph.

        Raises:
            BadAnswer: a decision waits for a part that is settled later.
            DeployFailed: parts failed; names them all, once everything that was started has ended.
        """
        state = self._state
        if state is None:
            raise AssertionError("the run has begun")
        end_if_cancelled()
        refuse_endless(decisions, state.outcomes)
        self.say("working on its parts")
        runs = [PartRun(decision, state).run() for decision in decisions]
        # Failures are outcomes; only what cancels the run is raised here, once all have stopped.
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
        """Have the release's scheduled actions run from now on."""
        self._learnt.schedules = await set_schedules(
            self._install, grant.app, scope.actions, grant.schedules, release
        )

    def say(self, doing: str) -> None:
        """Show what the run as a whole is doing now."""
        self._doing = doing
        self._show()

    def _outcomes(self) -> list[ComponentOutcome]:
        outcomes = self._state.outcomes if self._state else {}
        return [outcomes[one.component] for one in self._decisions if one.component in outcomes]

    @workflow.update
    async def approve(self, approval: Approval) -> WaitingPlan:
        """Approve the waiting plan with this digest."""
        return self._approvals.decide(approval, approved=True)

    @workflow.update
    async def deny(self, approval: Approval) -> WaitingPlan:
        """Deny the waiting plan with this digest: its part fails, its siblings go on."""
        return self._approvals.decide(approval, approved=False)

    @approve.validator
    @deny.validator
    def _validate_decision(self, approval: Approval) -> None:
        require_words(by=approval.by, reason=approval.reason)
        self._approvals.refuse_other(approval.digest)

    @workflow.update
    async def view(self, request: ViewRequest) -> PlanView:
        """One page of the plan that waits with this digest, read from the worker."""
        self._views += 1
        plan = self._approvals.find(request.digest)
        seen = self._state.seen if self._state else None
        return await read_page(self._install, plan, request.page, seen)

    @view.validator
    def _validate_view(self, request: ViewRequest) -> None:
        self._approvals.refuse_other(request.digest)
        refuse_more_pages(self._views)

    @workflow.signal
    def grant_turn(self, grant: Grant) -> None:
        """The Install workflow gives this run its turn."""
        self._turn.granted(grant)

    @workflow.query
    def turn(self) -> RunTurn:
        """Whether this run holds or wants the install's turn."""
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
        return Progress(
            doing=doing, parts=[part_progress(one, self._state) for one in self._decisions]
        )

    def _show(self) -> None:
        """Show people what is new: the details, and the status if it has changed."""
        self._show_details()
        plans = self._approvals.waiting()
        now = (self.working, "")
        if plans:
            now = ("waits for approval", part_shown(plans[0].component))
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
            run_details(self._title(), self._state, self._decisions, self._turn.is_wanted)
        )
