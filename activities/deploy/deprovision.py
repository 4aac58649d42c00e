"""`deprovision.scope` and `deprovision.finish`."""

import asyncio

from temporalio import activity

from activities.deploy.decisions import decide_teardown
from activities.deploy.emptying import empty
from activities.deploy.scoping import scope_of, triggered
from activities.heartbeats import heartbeating
from activities.workplace import Workplace
from apps.parts import SANDBOX
from contracts import provisions
from contracts.deploys import Scope, TriggeredAction
from contracts.messages import Nothing
from contracts.provisions import DeprovisionFinishInput, DeprovisionScopeInput


class DeprovisionActivities:
    """Runs on the install worker."""

    def __init__(self, workplace: Workplace) -> None:
        self._workplace = workplace

    @activity.defn(name=provisions.DEPROVISION_SCOPE.name)
    async def scope(self, input: DeprovisionScopeInput) -> Scope:
        """A teardown for everything that is deployed, each from the release that deployed it."""
        async with heartbeating() as say:
            await self._workplace.check_turn(input.turn)
            say("reads what is deployed")
            return await asyncio.to_thread(self._scope, input)

    def _scope(self, input: DeprovisionScopeInput) -> Scope:
        state = self._workplace.state
        decisions = decide_teardown(state.components(), state.component(SANDBOX))
        return scope_of(self._workplace, decisions, self._actions(input.app))

    def _actions(self, app: str) -> list[TriggeredAction]:
        """The triggered actions of the deployed release, or else of the one that was tried last."""
        state = self._workplace.state
        newest = state.deployed() or state.component(SANDBOX) or state.provisioned()
        if newest is None:
            return []
        return triggered(self._workplace.releases.config(app, newest.release), newest.release)

    @activity.defn(name=provisions.DEPROVISION_FINISH.name)
    async def finish(self, input: DeprovisionFinishInput) -> Nothing:
        """Empty the store except for its journals, and remove this machine's files.

        Raises:
            BadInput: something is still deployed.
            LockHeld: an operation is still at work on the install.
        """
        async with heartbeating() as say:
            await self._workplace.check_turn(input.turn)
            await empty(self._workplace, input.turn, say)
            return Nothing()
