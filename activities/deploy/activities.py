"""`deploy.scope`, `plan.view` and `deploy.finish`."""

import asyncio

from temporalio import activity

from activities.deploy.decisions import Target, decide
from activities.deploy.scoping import open_target, scope_of, triggered
from activities.heartbeats import heartbeating
from activities.plans.plan_store import load_view
from activities.plans.view import pages
from activities.retention import drop_what_old_runs_left
from activities.workplace import Workplace
from apps.parts import part_shown
from contracts import deploys
from contracts.deploys import FinishInput, PlanView, Scope, ScopeInput, ViewInput
from contracts.errors import BadInput, NotThere
from contracts.messages import Nothing
from contracts.names import install_workflow_id
from store.install_records import DeployedRelease


class DeployActivities:
    """Runs on the install worker."""

    def __init__(self, workplace: Workplace) -> None:
        self._workplace = workplace

    @activity.defn(name=deploys.SCOPE.name)
    async def scope(self, input: ScopeInput) -> Scope:
        """Store the newest inputs, and decide what to do with each component.

        Raises:
            BadInput: required inputs are missing, values are invalid, or the release's sandbox is
                not provisioned.
        """
        async with heartbeating() as say:
            await self._workplace.check_turn(input.turn)
            say("reads the release")
            return await asyncio.to_thread(self._scope, input)

    def _scope(self, input: ScopeInput) -> Scope:
        target = open_target(self._workplace, input)
        _require_provisioned(target, self._workplace.install)
        return scope_of(self._workplace, decide(target), triggered(target.config))

    @activity.defn(name=deploys.VIEW.name)
    async def view(self, input: ViewInput) -> PlanView:
        """One page of a plan's view."""
        async with heartbeating():
            found = await asyncio.to_thread(load_view, self._workplace.store, input.plan_key)
            if found is None:
                shown = part_shown(input.component)
                raise NotThere(f"The store has no plan of {shown} under that key.")
            record, text = found
            all_pages = pages(text)
            if not 1 <= input.page <= len(all_pages):
                raise BadInput(f"The plan view has {len(all_pages)} pages, not {input.page}.")
            return PlanView(
                component=input.component,
                digest=record.digest,
                text=all_pages[input.page - 1],
                page=input.page,
                pages=len(all_pages),
            )

    @activity.defn(name=deploys.FINISH.name)
    async def finish(self, input: FinishInput) -> Nothing:
        """Record the release as the one that the install runs, and drop what old runs left."""
        async with heartbeating():
            await self._workplace.check_turn(input.turn)
            deployed = DeployedRelease(app=input.app, release=input.release)
            await asyncio.to_thread(self._workplace.state.put_deployed, deployed)
            await asyncio.to_thread(drop_what_old_runs_left, self._workplace)
            return Nothing()


def _require_provisioned(target: Target, install: str) -> None:
    """Components are deployed into the sandbox, which a run of its own must have provisioned."""
    if target.config.sandbox is None or (target.sandbox and target.sandbox.status == "done"):
        return
    why = "did not end well" if target.sandbox else "has not been run yet"
    raise BadInput(
        f"{install} is not ready for components: the release {target.release} has a sandbox, and "
        f"its provision {why}. Provision it first, with the update `provision` on the workflow "
        f"{install_workflow_id(install)} and this release, then deploy again."
    )
