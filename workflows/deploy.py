"""Deploy: one release to one install, its components in parallel along their graph.

A rollback is a deploy of an older release, with plans and approvals of its own.
"""

from functools import partial

from temporalio import workflow

from contracts import deploys, releases
from contracts.deploys import (
    FEATURE_DEPLOY,
    DeployInput,
    DeployResult,
    FinishInput,
    Grant,
    Scope,
    ScopeInput,
)
from contracts.errors import ActionFailed
from contracts.names import install_queue
from contracts.releases import ReadRelease
from workflows.calls import call, call_local
from workflows.identity import require_id, show, show_at_first
from workflows.run import InstallRun


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
        show_at_first(
            app=grant.app, install=input.install, release=input.release, status=self.working
        )
        if grant.read != input.release:
            await call_local(
                releases.READ,
                ReadRelease(app=grant.app, release=input.release),
                summary="read the release's graph",
            )
        scope = await self._scope(input, grant)
        actions = self.began(scope, grant, input.release)
        await self.act(actions, "pre-deploy-all-components")
        await self.settle(scope.decisions)
        await self._finish(input, grant)
        self._learnt.release = input.release
        await self.set_schedules(grant, scope)
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
