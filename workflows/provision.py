"""Provision: the sandbox of a release, and the actions that come before and after it."""

from functools import partial

from temporalio import workflow

from contracts import provisions
from contracts.deploys import FinishInput, Grant
from contracts.names import install_queue
from contracts.provisions import FEATURE_PROVISION, ProvisionInput, ProvisionResult
from workflows.calls import call
from workflows.runs.install_run import InstallRun
from workflows.search_attributes import require_id, show


@workflow.defn(name="Provision")
class Provision(InstallRun):
    """Prepares the customer's account for the components, as the release says."""

    working = "provisioning"

    @workflow.run
    async def run(self, input: ProvisionInput) -> ProvisionResult:
        """Plan the sandbox, ask, and apply it."""
        require_id("provision", input.install)
        return await self.hold_turn(
            input.install, input.release, input.grant, partial(self._provision, input)
        )

    async def _provision(self, input: ProvisionInput, grant: Grant) -> ProvisionResult:
        scope = await self.scope(
            provisions.PROVISION_SCOPE,
            FEATURE_PROVISION,
            input.release,
            grant,
            summary="what this run does with the sandbox",
        )
        actions = self.began(scope, grant, input.release)
        again = "reprovision" if scope.provisioned else "provision"
        await self.act(actions, f"pre-{again}")
        await self.settle(scope.decisions)
        self._learnt.provisioned = True
        await self.act(actions, f"post-{again}")
        # Last: where an action failed, the next provision is the first one still.
        await self._finish(input, grant)
        show(status="provisioned")
        outcomes = self._outcomes()
        return ProvisionResult(
            install=input.install,
            release=input.release,
            sandbox=outcomes[0] if outcomes else None,
        )

    async def _finish(self, input: ProvisionInput, grant: Grant) -> None:
        self.say("recording that it is provisioned")
        await call(
            provisions.PROVISION_FINISH,
            FinishInput(
                requires=[FEATURE_PROVISION],
                install=input.install,
                app=grant.app,
                release=input.release,
                turn=grant.turn,
            ),
            queue=install_queue(input.install),
            summary="record that the install is provisioned",
        )
