"""Planning: `init`, `plan` to a file, `show`; used to plan, and to recover after a crash."""

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
"""How often a run may lose the race for the state's lock before that is an error."""


@dataclass(frozen=True)
class Planned:
    """A plan that was just made."""

    shown: bytes = field(repr=False)
    """The output of `terraform show -json`, with secrets in clear."""
    changes: TerraformChanges


async def plan_now(job: Job, replace: Sequence[str] = ()) -> Planned:
    """Plan for the current state, into the job's plan file.

    Args:
        job: The work on the component.
        replace: Addresses of objects to replace although nothing in the module requires it.

    Raises:
        EngineFailed: the state is damaged, or Terraform uses another backend.
        ExclaveError: Terraform failed, as `Job.why_it_ended` types it.
    """
    # Waits before anything is started, so that an attempt that only waits runs no tool.
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
    """Run a command that takes the state's lock, once the lock is free. If somebody else was faster
    to take it, the command has done nothing, and runs again.

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
        f"{_MOST_LOST} times before terraform {label} could. This is retried automatically."
    )


async def initialise(job: Job) -> None:
    """Run `init`, and make sure that it uses our backend before anything else runs.

    Raises:
        EngineFailed: the state is damaged, or Terraform uses another backend.
        ExclaveError: `init` failed, as `Job.why_it_ended` types it.
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
    """Rebuild the working folder, with the module's own lock file if it has one.

    If an `init` read a provider while another process was still writing it to the cache, it
    recorded the hash of an incomplete file, which no provider will ever match.
    """

    def make() -> None:
        shutil.rmtree(job.space.folder / ".terraform" / "providers", ignore_errors=True)
        job.space.lock_file.unlink(missing_ok=True)
        marker_of(job.space.root).unlink(missing_ok=True)
        prepare(job.workplace, job.input)

    job.say("rebuilds its folder: a provider does not match the hash that was recorded for it")
    await asyncio.to_thread(make)


def _take(path: Path) -> bytes:
    """Read a file that holds secrets, and remove it; a later attempt would plan again anyway."""
    content = read_whole(path)
    path.unlink()
    return content
