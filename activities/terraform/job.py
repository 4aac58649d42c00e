"""A job: one operation of Terraform on one component, with its tool, folder and known secrets."""

import asyncio
import errno
import os
from dataclasses import dataclass
from pathlib import Path

from activities.disk import disk_full
from activities.once import Say
from activities.operations.operation import Operation
from activities.operations.status import ToolEnd
from activities.plans.changes import Changes
from activities.secrets.kept import keep_secrets
from activities.secrets.masking import Mask
from activities.terraform import commands
from activities.terraform.backends.registry import worker_secrets
from activities.terraform.commands import INITIALISING, PLANNING
from activities.terraform.locking import StateLocks
from activities.terraform.plan_json import PLAN_FILE
from activities.terraform.secrets import KnownSecrets
from activities.terraform.state_file import StateFile, unreadable
from activities.terraform.state_repair import make_whole
from activities.terraform.tool import TerraformTool, find_terraform
from activities.terraform.values import keep_values
from activities.terraform.workspace import Workspace, prepare
from activities.workplace import Workplace
from apps.parts import part_shown
from contracts.engines import ERRORED_STATE
from contracts.errors import EngineFailed, ExclaveError, Unreachable
from contracts.messages import OperationInput

_NO_ROOM = os.strerror(errno.ENOSPC).lower()
"""The message in Go's spelling."""

_LINES = 40
"""Terraform's message about its lock is long, and the reason is at its beginning."""


@dataclass(frozen=True)
class Job:
    """One operation of Terraform on one component: everything that the engine's steps need."""

    workplace: Workplace
    input: OperationInput
    teardown: bool
    plan_key: str
    """The key of the operation that makes or made the plan."""
    operation: Operation
    tool: TerraformTool
    space: Workspace
    secrets: KnownSecrets
    say: Say
    locks: StateLocks

    @property
    def plan_file(self) -> Path:
        """The plan file while Terraform works with it."""
        return self.operation.folder / PLAN_FILE

    def digest(self, changes: Changes) -> str:
        """The digest that an approval names; blocks."""
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
        """The typed error of a run that did not succeed, with all known secrets masked."""
        mask = await self.keep_secrets()
        if await self.may_pass(end):
            return Unreachable(
                f"{part_shown(self.input.component)}: terraform {end.failed} could not use "
                f"{self.space.backend.where()}, where its state and its lock are. This is "
                "retried, and does what remains; a lock that it may have left is removed. "
                f"Its last lines:\n{end.last_lines(_LINES, mask=mask.text)}"
            )
        why = commands.why_it_ended(end, part_shown(self.input.component), mask)
        if end.label in {INITIALISING, PLANNING} and _NO_ROOM in why.message:
            # Nothing was changed, and the run will succeed once there is space.
            return await asyncio.to_thread(disk_full, self.space.folder, why.message)
        return why

    async def keep_secrets(self) -> Mask:
        """Keep the secrets known so far, so that they can be masked when the log is read later."""

        def keep() -> Mask:
            mask = self.secrets.mask()
            own = Mask.of(worker_secrets(self.workplace.store)).secrets
            keep_secrets(self.operation.folder, mask.secrets - own)
            return mask

        return await asyncio.to_thread(keep)

    async def keep_values(self) -> None:
        """Keep the values that the part will be torn down with; before it is recorded as deployed,
        since a teardown relies on them."""

        def keep() -> None:
            config = self.workplace.releases.config(self.input.app, self.input.release)
            keep_values(self.workplace, config, self.input.component, self.space.values)

        await asyncio.to_thread(keep)

    def unreadable(self, run: Path) -> EngineFailed:
        """The error about an `errored.tfstate` that cannot be read; blocks."""
        return unreadable(self.input.component, self.space.folder / ERRORED_STATE, run)

    async def may_pass(self, end: ToolEnd) -> bool:
        """Whether the run failed because of the state's store, so that the next one may succeed."""
        return await asyncio.to_thread(self.space.backend.may_pass, end)

    async def require_whole_state(self) -> None:
        """Refuse to go on with a damaged state.

        Raises:
            EngineFailed: as `StateFile.require_whole`.
        """
        await asyncio.to_thread(self.space.state.require_whole)

    async def state_is_free(self) -> None:
        """Return once nobody else holds the state's lock; raises LockHeld after an hour."""
        await self.locks.wait_until_free(self.say)

    async def keep_state(self) -> None:
        """Keep a copy of the state, which must be complete."""
        await asyncio.to_thread(self.space.state.keep_copy)


async def open_job(
    workplace: Workplace, input: OperationInput, operation: Operation, say: Say, *, plan_key: str
) -> Job:
    """Find the tool and prepare the working folder.

    Raises:
        ToolMissing: there is no Terraform here.
        BadConfig: the component needs another version, or a template cannot be rendered.
        EngineFailed: an earlier apply left a state that cannot be put in place.
        LockHeld: somebody else holds the state's lock, so that state cannot be put in place yet.
    """
    tool = await asyncio.to_thread(find_terraform)
    store, folder = workplace.store, workplace.module_folder(input.component)
    machine = workplace.operations.machine
    locks = StateLocks.of(store, input.component, folder, machine, workplace.data)
    await make_whole(StateFile(store, input.component), folder, operation, locks, say)
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
    # Includes secrets of objects that this operation replaces or destroys, which are lost later.
    await job.keep_secrets()
    return job
