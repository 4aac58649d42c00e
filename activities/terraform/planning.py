"""Planning: `init`, `plan` to a file, `show`; used by the plan and by recovery after a crash."""

import asyncio
import errno
import logging
import os
import shutil
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from activities.disk import disk_full
from activities.once import Say
from activities.operations.operation import Operation, ToolEnd, ToolRun
from activities.operations.spec import SNAPSHOT_FILE
from activities.operations.status import end_of
from activities.plans.changes import Changes
from activities.releases.unpacked import marker_of
from activities.secrets.kept import keep_secrets
from activities.secrets.masking import Mask
from activities.terraform import commands
from activities.terraform.backends.override import drop_torn_record
from activities.terraform.backends.registry import worker_secrets
from activities.terraform.locking import StateLocks
from activities.terraform.outputs import read_whole
from activities.terraform.plan_json import PLAN_FILE, TerraformChanges, read_changes
from activities.terraform.provider_cache import in_turn, noted_another_provider, provider_cache
from activities.terraform.secrets import KnownSecrets
from activities.terraform.state_file import StateFile, rescue_printed, unreadable
from activities.terraform.store_faults import lost_the_lock
from activities.terraform.tool import TerraformTool, find_terraform
from activities.terraform.values import keep_values
from activities.terraform.workspace import Workspace, prepare
from activities.workplace import Workplace
from apps.parts import part_shown
from contracts.engines import ERRORED_STATE
from contracts.errors import EngineFailed, ExclaveError, LockHeld, Unreachable
from contracts.messages import OperationInput
from store.errors import Conflict

APPLYING = "apply"
"""The label of a run that applies."""

INITIALISING = "init"
"""The label of a run that initialises."""

PLANNING = "plan"
"""The label of a run that plans."""

_log = logging.getLogger(__name__)

_NO_ROOM = os.strerror(errno.ENOSPC).lower()
"""As Go says it."""

_LINES = 40
"""What Terraform says of its lock is long, and begins with why."""

_MOST_LOST = 5
"""How often a run may lose the race for the lock before it is told."""


@dataclass(frozen=True)
class Job:
    """One component under the hands of Terraform: what each step of the engine works with."""

    workplace: Workplace
    input: OperationInput
    teardown: bool
    plan_key: str
    """The key of the operation that makes, or made, the plan."""
    operation: Operation
    tool: TerraformTool
    space: Workspace
    secrets: KnownSecrets
    say: Say
    locks: StateLocks

    @property
    def plan_file(self) -> Path:
        """Where the plan lies while Terraform works with it."""
        return self.operation.folder / PLAN_FILE

    def digest(self, changes: Changes) -> str:
        """The digest that an approval binds to; blocks."""
        return changes.digest(
            self.workplace.state.digest_key(),
            install=self.input.install,
            component=self.input.component,
            verb=self.verb,
        )

    @property
    def verb(self) -> str:
        """What the plan is for."""
        return "teardown" if self.teardown else "apply"

    async def why_it_ended(self, end: ToolEnd) -> ExclaveError:
        """The typed error of a run that did not succeed, without any secret known by now."""
        mask = await self.keep_secrets()
        if await self.may_pass(end):
            return Unreachable(
                f"{part_shown(self.input.component)}: terraform {end.failed} could not use "
                f"{self.space.backend.where()}, where its state and its lock are. It is tried "
                "again, and does what is left then; the lock that it may have left is removed. "
                f"Its last lines:\n{end.last_lines(_LINES, mask=mask.text)}"
            )
        why = commands.why_it_ended(end, part_shown(self.input.component), mask)
        if end.label in {INITIALISING, PLANNING} and _NO_ROOM in why.message:
            # It has changed nothing, and goes well once there is room.
            return await asyncio.to_thread(disk_full, self.space.folder, why.message)
        return why

    async def keep_secrets(self) -> Mask:
        """Keep what is known to be secret by now, for whoever reads what the tools printed."""

        def keep() -> Mask:
            mask = self.secrets.mask()
            own = Mask.of(worker_secrets(self.workplace.store)).secrets
            keep_secrets(self.operation.folder, mask.secrets - own)
            return mask

        return await asyncio.to_thread(keep)

    async def keep_values(self) -> None:
        """Keep what the part is torn down with; before its record, which promises it."""

        def keep() -> None:
            config = self.workplace.releases.config(self.input.app, self.input.release)
            keep_values(self.workplace, config, self.input.component, self.space.values)

        await asyncio.to_thread(keep)

    def unreadable(self, run: Path) -> EngineFailed:
        """What is told of an `errored.tfstate` that cannot be read; blocks."""
        return unreadable(self.input.component, self.space.folder / ERRORED_STATE, run)

    async def may_pass(self, end: ToolEnd) -> bool:
        """Whether the run failed by the store that the state is in, and the next may go on."""
        return await asyncio.to_thread(self.space.backend.may_pass, end)

    async def require_whole_state(self) -> None:
        """Refuse to go on with a damaged state.

        Raises:
            EngineFailed: as `StateFile.require_whole` tells it.
        """
        await asyncio.to_thread(self.space.state.require_whole)

    async def state_is_free(self) -> None:
        """Return once nobody else holds the state's lock; raises LockHeld after an hour."""
        await self.locks.wait_until_free(self.say)

    async def keep_state(self) -> None:
        """Keep a copy of the state, which is whole."""
        await asyncio.to_thread(self.space.state.keep_copy)


async def open_job(
    workplace: Workplace, input: OperationInput, operation: Operation, say: Say, *, plan_key: str
) -> Job:
    """Find the tool and make the working folder.

    Raises:
        ToolMissing: there is no Terraform here.
        BadConfig: the component needs another version, or a template cannot be rendered.
        EngineFailed: a former apply left a state that cannot be put in its place.
        LockHeld: that state waits for somebody else's lock.
    """
    tool = await asyncio.to_thread(find_terraform)
    store, folder = workplace.store, workplace.module_folder(input.component)
    machine = workplace.operations.machine
    locks = StateLocks.of(store, input.component, folder, machine, workplace.data)
    await _make_whole(StateFile(store, input.component), folder, operation, locks, say)
    space = await asyncio.to_thread(prepare, workplace, input)
    tool.require(space.module.terraform_version, part_shown(input.component))
    space.backend.require(tool)
    job = Job(
        workplace=workplace,
        input=input,
        teardown=bool(getattr(input, "teardown", False)),
        plan_key=plan_key,
        operation=operation,
        tool=tool,
        space=space,
        secrets=KnownSecrets(space.mask, space.state),
        say=say,
        locks=locks,
    )
    # Also what this operation replaces or destroys: nobody else knows it afterwards.
    await job.keep_secrets()
    return job


async def _make_whole(
    state: StateFile, folder: Path, operation: Operation, locks: StateLocks, say: Say
) -> None:
    """Put in its place what the part's newest apply could not, of whichever operation it was."""
    newest = operation.newest_of_subject
    apply = newest.folder if newest is not None and newest.label == APPLYING else None
    if apply is not None:
        await asyncio.to_thread(rescue_printed, folder, apply)
    await _take_errored(state, folder, apply, locks, say)
    file = state.backend.file_in_place
    if file is None or not await asyncio.to_thread(file.exists):
        return
    end = await asyncio.to_thread(end_of, apply) if apply is not None else None
    if end is not None:
        await _put_back(state, end, locks, say)
    if await asyncio.to_thread(state.content) == b"":
        await locks.wait_until_free(say)
        await asyncio.to_thread(state.drop_untouched)


async def restore_killed(job: Job, end: ToolEnd) -> None:
    """Terraform empties its local state before it writes it: it may have been killed in between."""
    await _put_back(job.space.state, end, job.locks, job.say)


async def _put_back(state: StateFile, end: ToolEnd, locks: StateLocks, say: Say) -> None:
    # Seen: what nobody saw may have gone on, and written more than is known here. In a bucket it is
    # written as a whole: what is missing there, a person removed.
    seen = end.label == APPLYING and end.exits.get(commands.APPLY, 0) < 0
    if (
        not seen
        or state.backend.file_in_place is None
        or await asyncio.to_thread(state.read) is not None
    ):
        return
    # A person's own Terraform may be writing it now.
    await locks.wait_until_free(say)
    if await asyncio.to_thread(state.restore, end.folder / SNAPSHOT_FILE):
        _log.warning(
            "%s: Terraform was killed while it wrote its state; the newest whole version was "
            "put back, and what was in flight is planned again",
            part_shown(state.part),
        )


async def _take_errored(
    state: StateFile, folder: Path, apply: Path | None, locks: StateLocks, say: Say
) -> None:
    """Put what an apply could not write in its place, while nobody else works on the state."""

    def take() -> None:
        with locks.taken("puts a state that could not be written in its place"):
            state.take_errored(folder, apply)

    while (folder / ERRORED_STATE).exists():
        await locks.wait_until_free(say)
        say("puts the state that an apply could not write in its place")
        try:
            await asyncio.to_thread(take)
        except Conflict:
            say("somebody was faster")


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
