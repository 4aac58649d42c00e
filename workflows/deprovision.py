"""Deprovision: everything that was deployed is torn down, in reverse order, the sandbox last."""

from functools import partial

from temporalio import workflow

from apps.parts import SANDBOX
from contracts import provisions
from contracts.deploys import Grant, Scope
from contracts.names import install_queue
from contracts.provisions import (
    FEATURE_PROVISION,
    DeprovisionFinishInput,
    DeprovisionInput,
    DeprovisionResult,
    DeprovisionScopeInput,
)
from workflows.calls import call
from workflows.runs.install_run import InstallRun
from workflows.runs.triggered import set_schedules
from workflows.search_attributes import require_id, show, show_at_first


@workflow.defn(name="Deprovision")
class Deprovision(InstallRun):
    """Leaves nothing of the install in the customer's account but the journal of what was done."""

    working = "deprovisioning"

    @workflow.run
    async def run(self, input: DeprovisionInput) -> DeprovisionResult:
        """Tear everything down; every teardown is planned and approved like any change."""
        require_id("deprovision", input.install)
        return await self.hold_turn(
            input.install, None, input.grant, partial(self._deprovision, input)
        )

    async def _deprovision(self, input: DeprovisionInput, grant: Grant) -> DeprovisionResult:
        show_at_first(app=grant.app, install=input.install, status=self.working)
        scope = await self._scope(input, grant)
        actions = self.began(scope, grant, None)
        # First: nothing may start by itself while its ground is taken away.
        self._learnt.schedules = await set_schedules(input.install, grant.app, [], grant.schedules)
        components = [one for one in scope.decisions if one.component != SANDBOX]
        sandbox = [one for one in scope.decisions if one.component == SANDBOX]
        await self.act(actions, "pre-deprovision")
        await self.act(actions, "pre-teardown-all-components")
        await self.settle(components)
        await self.act(actions, "post-teardown-all-components")
        await self.settle(sandbox)
        await self.act(actions, "post-deprovision")
        await self._finish(input, grant)
        self._learnt.provisioned = False
        show(status="deprovisioned")
        return DeprovisionResult(install=input.install, components=self._outcomes())

    async def _scope(self, input: DeprovisionInput, grant: Grant) -> Scope:
        return await call(
            provisions.DEPROVISION_SCOPE,
            DeprovisionScopeInput(
                requires=[FEATURE_PROVISION],
                install=input.install,
                app=grant.app,
                turn=grant.turn,
            ),
            queue=install_queue(input.install),
            summary="what there is to tear down",
        )

    async def _finish(self, input: DeprovisionInput, grant: Grant) -> None:
        self.say("emptying the store")
        await call(
            provisions.DEPROVISION_FINISH,
            DeprovisionFinishInput(
                requires=[FEATURE_PROVISION],
                install=input.install,
                app=grant.app,
                turn=grant.turn,
            ),
            queue=install_queue(input.install),
            summary="empty the store, all but its journal",
        )
