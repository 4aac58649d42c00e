"""Applying: exactly the approved plan file, or after a crash what remains of it."""

import asyncio
from pathlib import Path

from activities.customer.audit_events import identify
from activities.operations.spec import ToolRun
from activities.operations.status import ToolEnd
from activities.plans.bound import require_bound
from activities.plans.plan_store import SavedPlan, sha256
from activities.plans.record import record_applying
from activities.terraform import commands
from activities.terraform.commands import APPLYING
from activities.terraform.crash_recovery import beyond_approval, dropped_replaces
from activities.terraform.job import Job
from activities.terraform.lock_file import load_lock_file, providers_identity
from activities.terraform.plan_json import TerraformChanges
from activities.terraform.planning import initialise, plan_now, run_unlocked
from activities.terraform.state_file import UNSAVED, left_unsaved, read_state, rescue_printed
from activities.terraform.state_repair import put_back
from apps.parts import part_shown
from contracts.engines import ERRORED_STATE
from contracts.errors import EngineFailed, ExclaveError, StalePlan, Unreachable
from store.left_files import read_left

_MOST_RUNS = 30
"""Tool runs in one operation, including recoveries: if Terraform is killed each time (for want of
memory, for example), the operation must fail, so that a person sees it."""

_ENDED_BY_ITSELF = frozenset({"exited", "timed_out"})


async def apply_to_the_end(
    job: Job, approved: SavedPlan[TerraformChanges], found: ToolEnd | None
) -> ToolEnd | None:
    """Apply until nothing of the approved plan remains.

    Args:
        job: The work on the component.
        approved: The plan that was approved.
        found: How the newest run of an earlier attempt ended, if there was one.

    Returns:
        How the last apply ended; None if nothing was left to apply.

    Raises:
        StalePlan: the changes, or what the plan was made from, are not what was approved.
        EngineFailed: Terraform failed by itself.
    """
    end = found
    begins = end is None and not job.operation.started_elsewhere
    if begins or not job.operation.was_attempted(APPLYING):
        # After the first apply, the remaining changes are compared with the approved ones instead.
        await asyncio.to_thread(
            require_bound, approved.record, job.space.artifact, job.space.rendered
        )
    if begins:
        await job.state_is_free()
        await asyncio.to_thread(_require_fresh, approved, job)
        end = await _apply_approved(job, approved)
    while end is None or not (end.label == APPLYING and end.succeeded()):
        if end is not None:
            await put_back(job.space.state, end, job.locks, job.say)
        if end is not None and await _is_final(job, end):
            raise await job.why_it_ended(end)
        _require_runs_left(job, end)
        end = await _apply_rest(job, approved)
        if end is None:
            return None
    return end


async def _is_final(job: Job, end: ToolEnd) -> bool:
    """Whether an apply failed by itself and its state was written, so that the failure is final."""
    by_itself = end.outcome in _ENDED_BY_ITSELF or await asyncio.to_thread(
        commands.failed_unseen, end
    )
    is_apply = end.label == APPLYING and by_itself
    return is_apply and not (end.folder / UNSAVED).exists() and not await job.may_pass(end)


def _require_runs_left(job: Job, end: ToolEnd | None) -> None:
    """Refuse to try forever; runs that failed because of the store do not count."""
    if job.operation.run_count >= _MOST_RUNS and (end is None or end.outcome != "exited"):
        raise EngineFailed(
            f"{part_shown(job.input.component)}: Terraform was killed again and again "
            f"({job.operation.run_count} runs). Is the worker's machine out of memory?"
        )


def note_unsaved(folder: Path, end: ToolEnd | None) -> bool:
    """Record whether an apply could not write its state, and return it. Blocks.

    To be called before the working folder is prepared again, since that puts the state in place.

    Args:
        folder: The part's working folder.
        end: How the newest run of the apply ended.
    """
    if end is None or end.label != APPLYING:
        return False
    if left_unsaved(folder, end.folder):
        (end.folder / UNSAVED).touch()
    return (end.folder / UNSAVED).exists()


def _require_fresh(approved: SavedPlan[TerraformChanges], job: Job) -> None:
    """Refuse a plan that was made by another tool, or for another state."""
    record = approved.record
    if record.tool != job.tool.identity:
        raise StalePlan(f"it was made by {record.tool}, but this worker has {job.tool.identity}")
    if record.state != job.space.state.identity():
        raise StalePlan("the component's state has changed since it was planned")


async def _apply_approved(job: Job, approved: SavedPlan[TerraformChanges]) -> ToolEnd:
    await asyncio.to_thread(_write, job.plan_file, approved.file)
    if not job.space.is_initialised_for(job.plan_key):
        # Another worker made the plan. Terraform applies it only with the same providers.
        lock = await asyncio.to_thread(load_lock_file, job.workplace.store, job.plan_key)
        await asyncio.to_thread(_write, job.space.lock_file, lock)
        await initialise(job)
    await asyncio.to_thread(_require_providers, approved, job)
    job.say(f"{job.tool.name} apply")
    return await _apply_file(job)


def _require_providers(approved: SavedPlan[TerraformChanges], job: Job) -> None:
    """Refuse a plan that was made with other providers than those in the working folder."""
    if providers_identity(job.space.lock_file) != approved.record.providers:
        raise StalePlan("the providers that Terraform chose have changed since it was planned")


async def _apply_rest(job: Job, approved: SavedPlan[TerraformChanges]) -> ToolEnd | None:
    """After a crash: plan what remains, and apply it if it lies within the approval."""
    job.say("plans what remains of an apply that was lost")
    rest = await plan_now(job)
    state = await asyncio.to_thread(job.space.state.read)
    dropped = dropped_replaces(approved.changes, rest.changes, state or {})
    if dropped:
        rest = await plan_now(job, replace=dropped)
    if rest.changes.empty:
        return None
    beyond = beyond_approval(approved.changes, rest.changes)
    if beyond:
        mask = await asyncio.to_thread(job.secrets.mask)
        raise StalePlan(
            "after an apply was lost, more would be done than was approved: "
            + mask.text("; ".join(beyond))
        )
    job.say(f"{job.tool.name} apply of what remains of an apply that was lost")
    return await _apply_file(job)


async def _apply_file(job: Job) -> ToolEnd:
    """Apply the plan file, after saving copies of the state and values that it starts from."""
    await job.require_whole_state()
    await job.keep_state()
    if not job.teardown:
        await job.keep_values()
    await record_applying(job.workplace, job.input, job.space.artifact)
    file = await asyncio.to_thread(read_left, job.plan_file)
    identify(plan_file=f"sha256:{sha256(file)}")
    apply = commands.apply(job.tool, job.plan_file)
    return await _run(job, commands.tool_run(apply, job.space, job.space.backend.file_in_place))


async def _run(job: Job, run: ToolRun) -> ToolEnd:
    await job.state_is_free()
    # Planning and waiting for the lock took time, so another run may have the turn by now.
    await job.workplace.check_turn(job.input.turn)
    end = await run_unlocked(job, APPLYING, run)
    if end.outcome in {"interrupted", "lease_lost"}:
        raise await job.why_it_ended(end)
    if end.succeeded():
        return end
    if await asyncio.to_thread(note_unsaved, job.space.folder, end):
        raise await _unsaved(job, end)
    if await job.may_pass(end):
        raise await job.why_it_ended(end)
    return end


async def _unsaved(job: Job, end: ToolEnd) -> ExclaveError:
    # At once, so that a printed state does not depend on what happens to the log.
    await asyncio.to_thread(rescue_printed, job.space.folder, end.folder)
    errored = await asyncio.to_thread(read_state, job.space.folder / ERRORED_STATE)
    if errored is None:
        return await asyncio.to_thread(job.unreadable, end.folder)
    # The mask is made from this state: the store's is older, and the store may not answer.
    mask = job.secrets.mask_with(errored)
    return Unreachable(
        f"{part_shown(job.input.component)}: the apply ended, but its state could not be written "
        f"to {job.space.backend.where()}. It is kept on the worker's machine, as "
        f"{job.space.folder / ERRORED_STATE}, and put in place as soon as the store answers. "
        f"Terraform's last lines:\n{end.last_lines(mask=mask.text)}"
    )


def _write(path: Path, content: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.touch(mode=0o600)
    path.write_bytes(content)
