"""The activities of the Terraform engine: `terraform.plan` and `terraform.apply`."""

import asyncio
from functools import partial
from pathlib import Path

from temporalio import activity

from activities.once import Say, once
from activities.operations.operation import Operation
from activities.operations.spec import SNAPSHOT_FILE
from activities.operations.status import ToolEnd
from activities.plans.bound import require_release
from activities.plans.outputs import as_sent
from activities.plans.plan_store import (
    PlanFiles,
    PlanRecord,
    SavedPlan,
    load_plan,
    load_record,
    save_plan,
    sha256,
)
from activities.plans.record import record_done
from activities.plans.view import render_view
from activities.removal import remove_each
from activities.terraform import commands
from activities.terraform.applying import apply_to_the_end, note_unsaved
from activities.terraform.job import Job, open_job
from activities.terraform.lock_file import SAVED_AS, providers_identity, read_lock_file
from activities.terraform.outputs import read_outputs, read_whole
from activities.terraform.plan_json import SAVED, TerraformChanges
from activities.terraform.planning import Planned, plan_now
from activities.workplace import Workplace
from apps.parts import part_shown
from contracts import deploys
from contracts.deploys import Applied, ApplyInput, Outputs, Plan, PlanInput
from contracts.engines import TERRAFORM
from contracts.errors import StalePlan
from contracts.messages import OperationInput
from store.left_files import read_left


class TerraformActivities:
    """Runs on the install worker."""

    def __init__(self, workplace: Workplace) -> None:
        self._workplace = workplace

    @activity.defn(name=deploys.TERRAFORM_PLAN.name)
    async def plan(self, input: PlanInput) -> Plan:
        """Plan a component, or its teardown, to a file in the store."""
        await self._check(input)
        return await once(
            self._workplace,
            key=input.key,
            subject=input.component,
            result=Plan,
            body=partial(self._plan, input),
            check=partial(self._check, input),
            tool_bytes=TERRAFORM.tool_bytes,
        )

    @activity.defn(name=deploys.TERRAFORM_APPLY.name)
    async def apply(self, input: ApplyInput) -> Applied:
        """Apply exactly the approved plan, or after a crash what remains of it."""
        await self._check(input)
        return await once(
            self._workplace,
            key=input.key,
            subject=input.component,
            result=Applied,
            body=partial(self._apply, input),
            check=partial(self._check_apply, input),
            tool_bytes=TERRAFORM.tool_bytes,
        )

    async def _check_apply(self, input: ApplyInput) -> None:
        """Also refuse another release. This is not recorded as the operation's outcome, since a
        wrong request must not end an apply that another release has begun."""
        await self._check(input)
        record = await asyncio.to_thread(load_record, self._workplace.store, input.plan_key)
        if record is not None:
            require_release(record, input)

    async def _check(self, input: OperationInput) -> None:
        await self._workplace.check_turn(input.turn)
        await asyncio.to_thread(self._workplace.state.require_revision, input.state_revision)

    async def _plan(self, input: PlanInput, operation: Operation, say: Say) -> Plan:
        # A tool that an earlier attempt left running must end first; planning again is harmless.
        await operation.attach()
        job = await open_job(self._workplace, input, operation, say, plan_key=input.key)
        planned = await plan_now(job)
        digest = await asyncio.to_thread(job.digest, planned.changes)
        if planned.changes.empty:
            # An empty plan needs no approval: the component is recorded as done.
            revision, outputs = await _settle(job, planned.changes, None)
        else:
            await asyncio.to_thread(_save, job, planned, digest)
            revision, outputs = input.state_revision, Outputs()
        await asyncio.to_thread(job.plan_file.unlink)
        return Plan(
            digest=digest,
            changes=planned.changes.counts(),
            empty=planned.changes.empty,
            state_revision=revision,
            outputs=outputs,
        )

    async def _apply(self, input: ApplyInput, operation: Operation, say: Say) -> Applied:
        approved = await asyncio.to_thread(load_plan, self._workplace.store, input.plan_key, SAVED)
        found = await operation.attach()
        folder = self._workplace.module_folder(input.component)
        await asyncio.to_thread(note_unsaved, folder, found)
        job = await open_job(self._workplace, input, operation, say, plan_key=input.plan_key)
        job.secrets.learn_plan(approved.changes)
        await asyncio.to_thread(_require_approved, job, approved, input.digest)
        end = await apply_to_the_end(job, approved, found)
        revision, outputs = await _settle(job, approved.changes, end)
        await asyncio.to_thread(job.plan_file.unlink, missing_ok=True)
        await asyncio.to_thread(_drop_snapshots, operation.folder)
        return Applied(state_revision=revision, outputs=outputs)


def _drop_snapshots(folder: Path) -> None:
    """Remove snapshots of the state: they hold secrets in clear, and the state is complete."""
    for snapshot in folder.glob(f"*/{SNAPSHOT_FILE}"):
        snapshot.unlink()


def _save(job: Job, planned: Planned, digest: str) -> None:
    """Save the plan in the store; if the state has changed meanwhile, its apply will refuse it."""
    file = read_left(job.plan_file)
    lock = read_lock_file(job.space.lock_file)
    record = PlanRecord(
        component=job.input.component,
        digest=digest,
        teardown=job.teardown,
        plan_file=sha256(file),
        tool=job.tool.identity,
        providers=providers_identity(job.space.lock_file),
        state=job.space.state.identity(),
        app=job.input.app,
        release=job.input.release,
        artifact=job.space.artifact,
        variables=job.space.rendered.variables,
        environment=job.space.rendered.environment,
    )
    shown = part_shown(job.input.component)
    view = render_view(shown, job.verb, planned.changes, job.secrets.mask())
    files = PlanFiles(file=file, shown=planned.shown, view=view, others={SAVED_AS: lock})
    save_plan(job.workplace.store, job.plan_key, SAVED, record, files)


def _require_approved(job: Job, approved: SavedPlan[TerraformChanges], digest: str) -> None:
    """Compute the digest again, and refuse a plan that is not the approved one."""
    computed = job.digest(approved.changes)
    if computed != digest or approved.record.digest != digest:
        raise StalePlan(f"the saved plan's digest is {computed}, but {digest} was approved")


def _forget(job: Job) -> int:
    """Delete the record and the empty state of a part that was torn down."""
    job.space.state.forget()
    return job.workplace.state.remove_component(job.input.component)


async def _settle(
    job: Job, planned: TerraformChanges, applied: ToolEnd | None
) -> tuple[int, Outputs]:
    """Record that the component is deployed or torn down; returns the state's revision and the
    outputs."""
    if job.teardown:
        # Deletes the state too, so nobody else may be using it.
        await job.state_is_free()
        revision = await asyncio.to_thread(_forget, job)
        await asyncio.to_thread(remove_each, [job.space.root])
        return revision, Outputs()
    # An earlier attempt may have recorded the outputs and removed the file.
    if applied is None or not (applied.folder / commands.OUTPUTS).exists():
        run = commands.tool_run([commands.outputs(job.tool)], job.space)
        applied = await job.operation.run("outputs", run)
        if not applied.succeeded():
            raise await job.why_it_ended(applied)
    await job.require_whole_state()
    await job.keep_state()
    file = applied.folder / commands.OUTPUTS
    printed = await asyncio.to_thread(read_whole, file)
    outputs = read_outputs(printed, planned.declared)
    await job.keep_values()
    job.secrets.learn_outputs(outputs)
    revision = await record_done(job.workplace, job.input, job.space.artifact, outputs)
    mask = await job.keep_secrets()
    # The file holds secrets in clear, and the store has the outputs now.
    await asyncio.to_thread(file.unlink)
    return revision, as_sent(outputs, mask)
