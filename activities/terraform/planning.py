"""Planning: `init`, `plan` to a file, `show`; used by the plan and by recovery after a crash."""

import asyncio
from dataclasses import dataclass
from pathlib import Path

from activities.once import Say
from activities.operations.operation import Operation
from activities.terraform import commands
from activities.terraform.changes import Changes, read_changes
from activities.terraform.tool import TerraformTool, find_terraform
from activities.terraform.workspace import Workspace, prepare
from activities.workplace import Workplace
from contracts.messages import OperationInput

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
    say: Say

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
    tool.require(space.component.terraform_version, input.component)
    return Job(
        workplace=workplace,
        input=input,
        teardown=bool(getattr(input, "teardown", False)),
        plan_key=plan_key,
        operation=operation,
        tool=tool,
        space=space,
        say=say,
    )


@dataclass(frozen=True)
class Planned:
    """A plan that was just made, in the run's folder."""

    shown: Path
    """What `terraform show -json` printed."""
    changes: Changes


async def plan_now(job: Job) -> Planned:
    """Plan against the state as it is now, to the job's plan file.

    Raises:
        ExclaveError: as `why_it_ended` types it.
    """
    job.say(f"{job.tool.name} plan")
    run = commands.tool_run(
        [
            commands.initialise(job.tool),
            *commands.plan(job.tool, job.plan_file, teardown=job.teardown),
        ],
        job.space,
    )
    end = await job.operation.run(PLANNING, run)
    if not end.succeeded():
        raise commands.why_it_ended(end, job.input.component, job.space.mask)
    await asyncio.to_thread(job.space.initialised_for, job.plan_key)
    shown = end.folder / commands.SHOWN
    return Planned(shown, await asyncio.to_thread(lambda: read_changes(shown.read_bytes())))
