"""`deploy.scope`, `plan.view` and `deploy.finish`."""

import asyncio
import logging

from temporalio import activity

from activities.deploy.decisions import Target, decide
from activities.deploy.retention import drop_old_runs
from activities.heartbeats import heartbeating
from activities.installs.description import describe
from activities.terraform.plan_store import load_view
from activities.terraform.view import pages
from activities.workplace import Workplace
from apps.input_values import InputErrors
from contracts import deploys
from contracts.deploys import Decision, FinishInput, PlanView, Scope, ScopeInput, ViewInput
from contracts.errors import BadInput, NotThere
from contracts.messages import Nothing
from store.install_state import DeployedRelease
from store.interface import StoreError

_log = logging.getLogger(__name__)


class DeployActivities:
    """Runs on the install worker."""

    def __init__(self, workplace: Workplace) -> None:
        self._workplace = workplace

    @activity.defn(name=deploys.SCOPE.name)
    async def scope(self, input: ScopeInput) -> Scope:
        """Bring the newest inputs to the store, and decide what to do with each component.

        Raises:
            BadInput: required inputs are missing, or values do not fit.
        """
        async with heartbeating() as say:
            await self._workplace.check_turn(input.turn)
            say("reads the release")
            decisions = await asyncio.to_thread(self._decide, input)
            return Scope(
                decisions=decisions,
                state_revision=await asyncio.to_thread(self._workplace.state.revision),
                worker=await asyncio.to_thread(describe),
            )

    def _decide(self, input: ScopeInput) -> list[Decision]:
        releases, state = self._workplace.releases, self._workplace.state
        config = releases.config(input.app, input.release)
        state.bring_inputs(input.inputs)
        try:
            inputs = state.inputs(config)
        except InputErrors as error:
            raise BadInput(
                "; ".join(error.problems)
                + ". Set inputs with the update `set_inputs` on the Install workflow; sensitive "
                "ones on the worker's machine."
            ) from None
        target = Target(
            release=input.release,
            config=config,
            artifacts=releases.index(input.app, input.release).components,
            inputs=inputs,
            deployed=state.components(),
            key=state.digest_key(),
        )
        return decide(target)

    @activity.defn(name=deploys.VIEW.name)
    async def view(self, input: ViewInput) -> PlanView:
        """One page of a plan's view."""
        async with heartbeating():
            found = await asyncio.to_thread(load_view, self._workplace.store, input.plan_key)
            if found is None:
                raise NotThere(f"The store has no plan of {input.component} under that key.")
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
            await asyncio.to_thread(self._drop_old_runs)
            return Nothing()

    def _drop_old_runs(self) -> None:
        """The next deploy's end tries again: this one went well whatever becomes of old files."""
        try:
            drop_old_runs(self._workplace.store, self._workplace.data / "runs")
        except (StoreError, OSError) as error:
            _log.warning("Old plans and files of tools could not be dropped: %s", error)
