"""Deploy: one release to one install, its components in parallel along their graph.

A rollback is a deploy of an older release, with plans and approvals of its own.
"""

from functools import partial

from temporalio import workflow

from contracts import deploys
from contracts.deploys import FEATURE_DEPLOY, DeployInput, DeployResult, FinishInput, Grant
from contracts.errors import ActionFailed
from contracts.names import install_queue
from workflows.calls import call
from workflows.runs.install_run import InstallRun
from workflows.search_attributes import require_id, show


@workflow.defn(name="Deploy")
class Deploy(InstallRun):
    """Takes its turn, reads the release's graph, and settles every component."""

    working = "deploying"

    @workflow.run
    async def run(self, input: DeployInput) -> DeployResult:
        """Deploy the release; fails with every component's failure named."""
        require_id("deploy", input.install)
        return await self.hold_turn(
            input.install, input.release, input.grant, partial(self._deploy, input)
        )

    async def _deploy(self, input: DeployInput, grant: Grant) -> DeployResult:
        scope = await self.scope(
            deploys.SCOPE,
            FEATURE_DEPLOY,
            input.release,
            grant,
            summary="what this deploy does with each component",
        )
        actions = self.began(scope, grant, input.release)
        await self.act(actions, "pre-deploy-all-components")
        await self.settle(scope.decisions)
        await self._finish(input, grant)
        self._learnt.release = input.release
        await self.set_schedules(grant, scope, input.release)
        try:
            await self.act(actions, "post-deploy-all-components")
        except ActionFailed as error:
            raise ActionFailed(
                f"{input.install} runs the release now, but {error.message}"
            ) from error
        show(status="deployed")
        return DeployResult(
            install=input.install, release=input.release, components=self._outcomes()
        )

    async def _finish(self, input: DeployInput, grant: Grant) -> None:
        self.say("recording the release")
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
