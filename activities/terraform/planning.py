"""Planning: `init`, `plan` to a file, `show`; used by the plan and by recovery after a crash."""

import asyncio
import shutil
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from activities.operations.spec import ToolRun
from activities.operations.status import ToolEnd
from activities.releases.unpacked import marker_of
from activities.terraform import commands
from activities.terraform.backends.override import drop_torn_record
from activities.terraform.commands import INITIALISING, PLANNING
from activities.terraform.job import Job
from activities.terraform.outputs import read_whole
from activities.terraform.plan_json import TerraformChanges, read_changes
from activities.terraform.provider_cache import in_turn, noted_another_provider, provider_cache
from activities.terraform.store_faults import lost_the_lock
from activities.terraform.workspace import prepare
from apps.parts import part_shown
from contracts.errors import LockHeld

_MOST_LOST = 5
"""How often a run may lose the race for the lock before it is told."""


@dataclass(frozen=True)
class Planned:
    """A plan that was just made."""

    shown: bytes = field(repr=False)
    """What `terraform show -json` printed, secrets in clear."""
    changes: TerraformChanges


async def plan_now(job: Job, replace: Sequence[str] = ()) -> Planned:
    """Plan against the state as it is now, to the job's plan file.

    Args:
        job: The component.
        replace: Addresses of objects to replace though nothing in the module asks for it.

    Raises:
        EngineFailed: the state is damaged, or Terraform uses another backend.
        ExclaveError: as `why_it_ended` types it.
    """
    # Before anything is started: an attempt that only waits starts nothing.
    await job.state_is_free()
    await initialise(job)
    end = await _run_plan(job, replace)
    if not end.succeeded() and await asyncio.to_thread(noted_another_provider, end):
        await start_afresh(job)
        await initialise(job)
        end = await _run_plan(job, replace)
    if not end.succeeded():
        raise await job.why_it_ended(end)
    shown = await asyncio.to_thread(_take, end.folder / commands.SHOWN)
    changes = await asyncio.to_thread(read_changes, shown)
    job.secrets.learn_plan(changes)
    await job.keep_secrets()
    return Planned(shown, changes)


async def _run_plan(job: Job, replace: Sequence[str]) -> ToolEnd:
    planning = commands.plan(
        job.tool,
        job.plan_file,
        teardown=job.teardown,
        variable_files=job.space.variable_files,
        replace=replace,
    )
    return await run_unlocked(job, PLANNING, commands.tool_run(planning, job.space))


async def run_unlocked(job: Job, label: str, run: ToolRun) -> ToolEnd:
    """Run what takes the state's lock, once the lock is free; one that lost the race for it has
    done nothing, and runs again.

    Raises:
        LockHeld: somebody else holds the lock, or was faster each time.
    """
    for _ in range(_MOST_LOST):
        await job.state_is_free()
        job.say(f"{job.tool.name} {label}")
        end = await job.operation.run(label, run)
        if not await asyncio.to_thread(lost_the_lock, end):
            return end
    raise LockHeld(
        f"{part_shown(job.input.component)}: somebody else took the lock of the Terraform state "
        f"{_MOST_LOST} times before terraform {label} could. It is tried again by itself."
    )


async def initialise(job: Job) -> None:
    """Run `init`, and make sure that it took our backend before anything uses it.

    Raises:
        EngineFailed: the state is damaged, or Terraform uses another backend.
        ExclaveError: as `why_it_ended` types it.
    """
    await job.require_whole_state()
    await asyncio.to_thread(drop_torn_record, job.space.folder)
    job.say(f"{job.tool.name} init")
    end = await _run_init(job)
    if not end.succeeded() and await asyncio.to_thread(noted_another_provider, end):
        await start_afresh(job)
        end = await _run_init(job)
    if not end.succeeded():
        raise await job.why_it_ended(end)
    await asyncio.to_thread(job.space.initialised_for, job.plan_key)


async def _run_init(job: Job) -> ToolEnd:
    cache = await asyncio.to_thread(provider_cache, job.space.environment)
    command = in_turn(commands.initialise(job.tool), cache)
    return await job.operation.run(INITIALISING, commands.tool_run([command], job.space))


async def start_afresh(job: Job) -> None:
    """Make the working folder anew, with the lock file that the module itself has, if it has one.

    An init that took half a provider for whole (another wrote it just then) noted the half's hash,
    which no provider has.
    """

    def make() -> None:
        shutil.rmtree(job.space.folder / ".terraform" / "providers", ignore_errors=True)
        job.space.lock_file.unlink(missing_ok=True)
        marker_of(job.space.root).unlink(missing_ok=True)
        prepare(job.workplace, job.input)

    job.say("makes its folder anew: a provider is not the one whose hash was noted")
    await asyncio.to_thread(make)


def _take(path: Path) -> bytes:
    """Read a file that holds secrets, and leave none behind: an attempt after this plans anew."""
    content = read_whole(path)
    path.unlink()
    return content
