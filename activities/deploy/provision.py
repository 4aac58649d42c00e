"""`provision.scope` and `provision.finish`."""

import asyncio

from temporalio import activity

from activities.deploy.decisions import decide_sandbox
from activities.deploy.scoping import open_target, scope_of, triggered
from activities.heartbeats import heartbeating
from activities.retention import drop_what_old_runs_left
from activities.workplace import Workplace
from contracts import provisions
from contracts.deploys import FinishInput, Scope, ScopeInput
from contracts.messages import Nothing
from store.install_records import ProvisionedRelease


class ProvisionActivities:
    """Runs on the install worker."""

    def __init__(self, workplace: Workplace) -> None:
        self._workplace = workplace

    @activity.defn(name=provisions.PROVISION_SCOPE.name)
    async def scope(self, input: ScopeInput) -> Scope:
        """Store the newest inputs, and decide what to do with the sandbox.

        Raises:
            BadInput: required inputs are missing, or values are invalid.
        """
        async with heartbeating() as say:
            await self._workplace.check_turn(input.turn)
            say("reads the release")
            return await asyncio.to_thread(self._scope, input)

    def _scope(self, input: ScopeInput) -> Scope:
        target = open_target(self._workplace, input)
        return scope_of(self._workplace, decide_sandbox(target), triggered(target.config))

    @activity.defn(name=provisions.PROVISION_FINISH.name)
    async def finish(self, input: FinishInput) -> Nothing:
        """Record that the install is provisioned, and drop what old runs left."""
        async with heartbeating():
            await self._workplace.check_turn(input.turn)
            provisioned = ProvisionedRelease(app=input.app, release=input.release)
            await asyncio.to_thread(self._workplace.state.put_provisioned, provisioned)
            await asyncio.to_thread(drop_what_old_runs_left, self._workplace)
            return Nothing()
