"""Approval by digest: which plans wait for a person, and what the person decided."""

from collections.abc import Callable
from dataclasses import dataclass

from temporalio import workflow

from contracts.deploys import Approval, WaitingPlan
from contracts.errors import BadAnswer, BadInput
from workflows.calls import BOUNDED, end_if_cancelled


@dataclass
class _Pending:
    plan: WaitingPlan
    approved: bool | None = None
    said: Approval | None = None


class Approvals:
    """The plans of one run that wait for an approval, by digest."""

    def __init__(self, changed: Callable[[], None]) -> None:
        self._changed = changed
        """Called when a plan begins to wait, and when a person has decided."""
        self._pending: dict[str, _Pending] = {}

    async def ask(self, plan: WaitingPlan) -> tuple[bool, Approval]:
        """Wait until somebody approves or denies exactly this plan.

        Returns:
            Whether it was approved, and the approval or denial that a person sent.

        Raises:
            BadAnswer: another part waits with the same digest.
            asyncio.CancelledError: the run was cancelled.
        """
        end_if_cancelled()
        other = self._pending.get(plan.digest)
        if other is not None and workflow.patched(BOUNDED):
            raise BadAnswer(
                f"The install's worker gave the plans of {plan.component} and "
                f"{other.plan.component} the same digest, {plan.digest}: an approval could mean "
                "either."
            )
        pending = _Pending(plan)
        self._pending[plan.digest] = pending
        self._changed()
        try:
            await workflow.wait_condition(lambda: pending.approved is not None)
        finally:
            del self._pending[plan.digest]
        if pending.approved is None or pending.said is None:
            raise AssertionError("the condition held")
        return pending.approved, pending.said

    def refuse_other(self, digest: str) -> None:
        """Refuse a digest that no waiting plan has; called by validators of updates.

        Raises:
            BadInput: no such plan waits; names those that do.
        """
        pending = self._pending.get(digest)
        if pending is not None and pending.approved is None:
            return
        waiting = [one for one in self._pending.values() if one.approved is None]
        if not waiting:
            raise BadInput(f"Nothing waits for an approval here, so {digest} cannot be decided.")
        current = "; ".join(f"{one.plan.component}: {one.plan.digest}" for one in waiting)
        raise BadInput(f"No plan with digest {digest} waits for an approval. Waiting: {current}")

    def decide(self, approval: Approval, approved: bool) -> WaitingPlan:
        """Record what a person decided about a plan that `refuse_other` has let pass."""
        pending = self._pending[approval.digest]
        pending.approved = approved
        pending.said = approval
        self._changed()
        return pending.plan

    def find(self, digest: str) -> WaitingPlan:
        """The waiting plan with this digest."""
        self.refuse_other(digest)
        return self._pending[digest].plan

    def waiting(self) -> list[WaitingPlan]:
        """The plans that wait, in the order they came."""
        return [one.plan for one in self._pending.values() if one.approved is None]
