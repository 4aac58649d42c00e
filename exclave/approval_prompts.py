"""Shows the plans of a followed run to a person, and at a terminal asks whether to approve them."""

import asyncio
from collections.abc import Sequence

from client.control_plane import ControlPlane
from client.errors import CallFailed
from client.plans import Verdict, decide, view_of
from contracts.deploys import WaitingPlan
from exclave.screens.progress import Reporter
from exclave.screens.prompt import ask
from exclave.screens.terminal import Lines


class ApprovalPrompts:
    """The waiting plans of one run; each is shown once."""

    def __init__(
        self, plane: ControlPlane, run: str, reporter: Reporter, asking: Lines | None, by: str
    ):
        """Nothing is shown yet.

        Args:
            plane: The control plane.
            run: The run's workflow id.
            reporter: Shows the plans.
            asking: The run's other output, which is held back while a person is asked; None if
                nobody can be asked.
            by: Who decides.
        """
        self._plane = plane
        self._run = run
        self._reporter = reporter
        self._asking = asking
        self._by = by
        self._shown: dict[str, WaitingPlan] = {}
        self._left: list[WaitingPlan] = []
        """Plans that a person has not been asked about yet, or (the first one) is being asked."""
        self._asked_about: WaitingPlan | None = None
        """The plan of the current question, until it is answered."""
        self._task: asyncio.Task[None] | None = None

    async def update(self, plans: Sequence[WaitingPlan]) -> None:
        """Take the plans that wait now: show new ones, ask, and drop those that were decided."""
        await self._drop_decided({one.digest for one in plans})
        new = [one for one in plans if one.digest not in self._shown]
        for plan in new:
            self._shown[plan.digest] = plan
            if self._asking is None:
                await self._show(plan)
            else:
                self._left.append(plan)
        if self._left and (self._task is None or self._task.done()):
            self._task = asyncio.create_task(self._ask_all())

    async def close(self) -> None:
        """Stop asking."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait({self._task})
            if self._asking is not None:
                self._asking.release()

    async def _drop_decided(self, waiting: set[str]) -> None:
        for digest in set(self._shown) - waiting:
            plan = self._shown.pop(digest)
            if plan == self._asked_about:
                # Somebody else decided it, or the run has ended: the question is moot.
                await self.close()
                self._reporter.decided(plan, "was decided elsewhere.")
        self._left = [one for one in self._left if one.digest in waiting]

    async def _show(self, plan: WaitingPlan) -> bool:
        try:
            text = await view_of(self._plane, self._run, plan)
        except CallFailed as end:
            self._reporter.no_view(self._run, plan, end.message)
            return False
        self._reporter.plan(self._run, plan, text)
        return True

    async def _ask_all(self) -> None:
        while self._left and self._asking is not None:
            plan = self._left[0]
            # Ask only about a plan that could be shown.
            if await self._show(plan):
                self._asking.hold()
                try:
                    words = await self._ask(plan)
                finally:
                    self._asking.release()
                self._reporter.decided(plan, words)
            self._left = [one for one in self._left if one != plan]

    async def _ask(self, plan: WaitingPlan) -> str:
        """Ask about a plan, and send the decision; returns what became of it, in words."""
        self._asked_about = plan
        try:
            verdict = await self._answer()
        finally:
            self._asked_about = None
        if verdict is None:
            return f"goes on waiting. To approve it: exclave approve {self._run} {plan.digest}"
        try:
            await decide(self._plane, self._run, plan.digest, verdict)
        except CallFailed as end:
            return f"is not decided: {end.message}"
        return "is approved." if verdict.approved else "is denied."

    async def _answer(self) -> Verdict | None:
        while True:
            answer = await ask("Approve exactly this plan? [y/n/later] ")
            match answer if answer is None else answer.lower():
                case "y" | "yes":
                    return Verdict(True, self._by)
                case "n" | "no":
                    reason = await ask("Why not? (may be empty) ")
                    return Verdict(False, self._by, reason or "")
                case None | "l" | "later":
                    return None
