"""Terraform's command lines, and what it means how they end."""

from collections.abc import Sequence
from pathlib import Path

from activities.operations.spec import Command, ToolRun
from activities.operations.status import ToolEnd
from activities.secrets.masking import Mask
from activities.terraform.tool import TerraformTool
from activities.terraform.workspace import Workspace
from contracts.errors import Draining, EngineFailed, ExclaveError, LockHeld, StalePlan, ToolLost

SHOWN = "changes.json"
OUTPUTS = "outputs.json"

APPLY = "apply"
"""The name of the command that applies."""

APPLYING = "apply"
"""The label of a run that applies."""

INITIALISING = "init"
"""The label of a run that initialises."""

PLANNING = "plan"
"""The label of a run that plans."""

TIMEOUT_SECONDS = 3600.0
"""The app config format's default for a Terraform component."""

_ERROR_LINES = 200
"""Enough lines for several of Terraform's error messages."""

_GRACE_SECONDS = 120.0
"""How long an interrupted Terraform may take to end its provisioners and write its state."""


def tool_run(
    commands: list[Command],
    workspace: Workspace,
    snapshots_of: Path | None = None,
) -> ToolRun:
    """A run of the commands in the component's working folder; see `ToolRun` for snapshots."""
    return ToolRun(
        commands=commands,
        cwd=workspace.folder,
        environment=workspace.environment,
        timeout_seconds=TIMEOUT_SECONDS,
        grace_seconds=_GRACE_SECONDS,
        snapshots_of=snapshots_of,
        prints_what_it_cannot_save=any(command.name == APPLY for command in commands),
    )


def initialise(tool: TerraformTool) -> Command:
    """`terraform init`, with `-reconfigure`, since backends are never migrated here."""
    return _command(tool, "init", "-reconfigure")


def plan(
    tool: TerraformTool,
    file: Path,
    *,
    teardown: bool,
    variable_files: Sequence[Path] = (),
    replace: Sequence[str] = (),
) -> list[Command]:
    """`terraform plan` into a file, and `terraform show` of it.

    Args:
        tool: Terraform.
        file: The file that the plan is written to.
        teardown: Whether everything is to be destroyed.
        variable_files: Later ones override earlier ones.
        replace: Addresses of objects to replace although nothing in the module requires it.
    """
    options = [
        *(["-destroy"] if teardown else []),
        *(f"-var-file={path}" for path in variable_files),
        *(f"-replace={address}" for address in replace),
    ]
    return [
        _command(tool, "plan", *options, f"-out={file}", "-lock-timeout=0s"),
        Command("show", [str(tool.path), "show", "-json", str(file)], stdout=SHOWN),
    ]


def apply(tool: TerraformTool, file: Path) -> list[Command]:
    """`terraform apply` of exactly that file, and `terraform output`."""
    return [_command(tool, APPLY, str(file)), outputs(tool)]


def outputs(tool: TerraformTool) -> Command:
    """`terraform output` into a file of the run's folder, with sensitive values in clear."""
    return Command("output", [str(tool.path), "output", "-json"], stdout=OUTPUTS)


def _command(tool: TerraformTool, name: str, *arguments: str) -> Command:
    return Command(name, [str(tool.path), name, "-input=false", "-no-color", *arguments])


def failed_unseen(end: ToolEnd) -> bool:
    """Whether a run that was lost had failed by itself; blocks.

    Terraform prints its errors after everything has stopped and the state is written, each at the
    beginning of a line. Output of the module's scripts is prefixed with the resource's name.
    """
    return end.outcome == "lost" and "\nError: " in f"\n{end.last_lines(_ERROR_LINES)}"


def why_it_ended(end: ToolEnd, component: str, mask: Mask) -> ExclaveError:
    """The typed error of a run that did not succeed, with the tool's last lines."""
    lines = end.last_lines(mask=mask.text)
    said = f" Its last lines:\n{lines}" if lines else ""
    what = f"{component}: terraform {end.failed or end.label}"
    match end.outcome:
        case "timed_out":
            return EngineFailed(f"{what} took longer than {TIMEOUT_SECONDS:.0f} s.{said}")
        case "lease_lost":
            return LockHeld(f"{what} was stopped: {end.message or 'its lease was lost'}.{said}")
        case "interrupted":
            return Draining(f"{what} was interrupted with its worker; the next attempt continues.")
        case "signalled" | "lost" if not failed_unseen(end):
            return ToolLost(f"{what} died; the next attempt does what remains.{said}")
        case _ if "Saved plan is stale" in lines:
            return StalePlan("the component's state has changed since it was planned")
        case _:
            status = end.exits.get(end.failed or "")
            code = "" if status is None else f" with exit status {status}"
            return EngineFailed(f"{what} failed{code}.{said}")
