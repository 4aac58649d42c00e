"""How the Install workflow starts runs: with a numbered id, and with the turn if it is free."""

from collections.abc import Callable
from dataclasses import dataclass

from pydantic import BaseModel
from temporalio import workflow
from temporalio.exceptions import WorkflowAlreadyStartedError
from temporalio.workflow import ParentClosePolicy

from contracts.actions import ActionInput
from contracts.deploys import DeployInput, Grant
from contracts.installs import InstallInput, RunStarted
from contracts.messages import Turn
from contracts.names import ComponentName, Digest, Name
from contracts.provisions import DeprovisionInput, ProvisionInput
from workflows.installs.turn_queue import TurnQueue
from workflows.search_attributes import shown_from_the_start


@dataclass(frozen=True)
class NewRun:
    """A run that changes the install, before it is started."""

    workflow: str
    working: str
    """Its status while it works."""
    summary: str
    release: Digest | None
    """The release that it brings, if it brings one."""
    input: Callable[[Name, Grant | None], BaseModel]
    """Makes its input from the install and, if the turn is free, the grant."""


def provision(release: Digest) -> NewRun:
    """Provision the release's sandbox."""
    return NewRun(
        "Provision", "provisioning", f"provision {release[:19]}", release,
        lambda install, grant: ProvisionInput(install=install, release=release, grant=grant),
    )  # fmt: skip


def deploy(release: Digest, verb: str = "deploy") -> NewRun:
    """Deploy the release.

    Args:
        release: The release.
        verb: What the run's summary calls it, such as `roll back to`.
    """
    return NewRun(
        "Deploy", "deploying", f"{verb} {release[:19]}", release,
        lambda install, grant: DeployInput(install=install, release=release, grant=grant),
    )  # fmt: skip


def deprovision() -> NewRun:
    """Tear everything down."""
    return NewRun(
        "Deprovision", "deprovisioning", "deprovision everything", None,
        lambda install, grant: DeprovisionInput(install=install, grant=grant),
    )  # fmt: skip


class RunStarter:
    """Starts an install's runs as child workflows that survive a continue-as-new of Install."""

    def __init__(self, own: InstallInput, turns: TurnQueue, next_run: int) -> None:
        self._own = own
        self._turns = turns
        self.next_run = next_run
        """The number of the next run."""

    async def start(self, new: NewRun, grant: Callable[[Name, Turn], Grant]) -> RunStarted:
        """Start a run that changes the install; if the turn is taken, the run asks for it itself.

        Args:
            new: The run.
            grant: Makes the grant from the app and the turn.
        """
        own, turn = self._own, None
        while True:
            workflow_id = f"{new.workflow.lower()}/{own.install}/{self._take_number()}"
            if self._turns.is_free:
                turn = self._turns.reserve(workflow_id)
            shown = {"app": own.app, "install": own.install}
            shown |= {"status": new.working if turn else "waiting for its turn"}
            shown |= {"release": new.release} if new.release else {}
            try:
                run = await workflow.start_child_workflow(
                    new.workflow,
                    new.input(own.install, grant(own.app, turn) if turn else None),
                    id=workflow_id,
                    # Continue-as-new ends children of any other policy.
                    parent_close_policy=ParentClosePolicy.ABANDON,
                    static_summary=f"{new.summary} on {own.install}",
                    search_attributes=shown_from_the_start(**shown),
                )
            except WorkflowAlreadyStartedError:
                # Somebody started a run with that id directly: try the next number.
                if turn is not None:
                    self._turns.withdraw(turn)
                    turn = None
                continue
            run_id = run.first_execution_run_id or ""
            if turn is not None:
                self._turns.started(turn, run_id)
            return RunStarted(workflow_id=workflow_id, run_id=run_id)

    async def act(self, action: ComponentName, release: Digest | None) -> RunStarted:
        """Start an action; actions take no turn."""
        own = self._own
        while True:
            workflow_id = f"action/{own.install}/{action}/{self._take_number()}"
            try:
                run = await workflow.start_child_workflow(
                    "Action",
                    ActionInput(install=own.install, action=action, release=release),
                    id=workflow_id,
                    parent_close_policy=ParentClosePolicy.ABANDON,
                    static_summary=f"{action} on {own.install}",
                    search_attributes=shown_from_the_start(
                        app=own.app, install=own.install, component=action, status="running"
                    ),
                )
            except WorkflowAlreadyStartedError:
                continue
            return RunStarted(workflow_id=workflow_id, run_id=run.first_execution_run_id or "")

    def _take_number(self) -> int:
        self.next_run += 1
        return self.next_run - 1
