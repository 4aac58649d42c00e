"""Planning: `init`, `plan` to a file, `show`; used by the plan and by recovery after a crash."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from activities.once import Say
from activities.operations.operation import Operation, ToolEnd, ToolRun
from activities.terraform import commands
from activities.terraform.changes import Changes, read_changes
from activities.terraform.secrets import KnownSecrets
from activities.terraform.state_lock import StateLocks
from activities.terraform.tool import TerraformTool, find_terraform
from activities.terraform.workspace import Workspace, prepare
from activities.workplace import Workplace
from apps.parts import part_shown
from contracts.errors import ExclaveError
from contracts.messages import OperationInput

INITIALISING = "init"
"""The label of a run that initialises."""

PLANNING = "plan"
"""The label of a run that plans."""


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
        return self.operation.folder / commands.PLAN_FILE

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
        mask = await asyncio.to_thread(self.secrets.mask)
        return commands.why_it_ended(end, part_shown(self.input.component), mask)

    async def require_whole_state(self) -> None:
        """Refuse to go on with a damaged state.

        Raises:
            EngineFailed: as `StateFile.require_whole` tells it.
        """
        await asyncio.to_thread(self.space.state.require_whole)

    async def state_is_free(self) -> None:
        """Return once nobody else holds the state's lock; raises LockHeld after an hour."""
        await self.locks.wait_until_free(self.input.component, self.say)

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
    """
    tool = await asyncio.to_thread(find_terraform)
    space = await asyncio.to_thread(prepare, workplace, input)
    tool.require(space.module.terraform_version, part_shown(input.component))
    return Job(
        workplace=workplace,
        input=input,
        teardown=bool(getattr(input, "teardown", False)),
        plan_key=plan_key,
        operation=operation,
        tool=tool,
        space=space,
        secrets=KnownSecrets(space.mask, space.state),
        say=say,
        locks=StateLocks(workplace.store, workplace.operations.machine, workplace.data),
    )


@dataclass(frozen=True)
class Planned:
    """A plan that was just made."""

    shown: bytes = field(repr=False)
    """What `terraform show -json` printed, secrets in clear."""
    changes: Changes


async def plan_now(job: Job, replace: Sequence[str] = ()) -> Planned:
    """Plan against the state as it is now, to the job's plan file.

    Args:
        job: The component.
        replace: Addresses of objects to replace though nothing in the module asks for it.

    Raises:
        EngineFailed: the state is damaged, or Terraform uses another backend.
        ExclaveError: as `why_it_ended` types it.
    """
    await initialise(job)
    planning = commands.plan(
        job.tool,
        job.plan_file,
        teardown=job.teardown,
        variable_files=job.space.variable_files,
        replace=replace,
    )
    end = await run_unlocked(job, PLANNING, commands.tool_run(planning, job.space))
    if not end.succeeded():
        raise await job.why_it_ended(end)
    shown = await asyncio.to_thread(_take, end.folder / commands.SHOWN)
    changes = await asyncio.to_thread(read_changes, shown)
    job.secrets.learn_plan(changes)
    return Planned(shown, changes)


async def run_unlocked(job: Job, label: str, run: ToolRun) -> ToolEnd:
    """Run what takes the state's lock, once the lock is free; one that lost the race for it has
    done nothing, and runs again.

    Raises:
        LockHeld: somebody else holds the lock.
    """
    while True:
        await job.state_is_free()
        job.say(f"{job.tool.name} {label}")
        end = await job.operation.run(label, run)
        if not await asyncio.to_thread(commands.lost_the_lock, end):
            return end


async def initialise(job: Job) -> None:
    """Run `init`, and make sure that it took our backend before anything uses it.

    Raises:
        EngineFailed: the state is damaged, or Terraform uses another backend.
        ExclaveError: as `why_it_ended` types it.
    """
    await job.require_whole_state()
    job.say(f"{job.tool.name} init")
    run = commands.tool_run([commands.initialise(job.tool)], job.space)
    end = await job.operation.run(INITIALISING, run)
    if not end.succeeded():
        raise await job.why_it_ended(end)
    await asyncio.to_thread(job.space.initialised_for, job.plan_key)


def _take(path: Path) -> bytes:
    """Read a file that holds secrets, and leave none behind: an attempt after this plans anew."""
    content = path.read_bytes()
    path.unlink()
    return content
