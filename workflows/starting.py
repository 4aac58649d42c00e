"""How the Install workflow starts runs: named and numbered, with the turn if that is free."""

from collections.abc import Callable
from dataclasses import dataclass

from pydantic import BaseModel
from temporalio import workflow
from temporalio.exceptions import WorkflowAlreadyStartedError
from temporalio.workflow import ParentClosePolicy

from contracts.actions import ActionInput
from contracts.deploys import Grant
from contracts.installs import InstallInput, RunStarted
from contracts.messages import Turn
from contracts.names import ComponentName, Digest, Name
from workflows.search_attributes import shown_from_the_start
from workflows.turn_queue import TurnQueue

MakeInput = Callable[[InstallInput, Grant | None], BaseModel]
"""The input of a run, from the install and, where the turn is free, its grant."""


@dataclass(frozen=True)
class Kind:
    """A kind of run that changes the install."""

    workflow: str
    working: str
    """Its status while it works."""


PROVISION = Kind("Provision", "provisioning")
DEPLOY = Kind("Deploy", "deploying")
DEPROVISION = Kind("Deprovision", "deprovisioning")


class RunStarter:
    """Starts an install's runs as children that outlive the Install workflow's own runs."""

    def __init__(self, own: InstallInput, turns: TurnQueue, next_run: int) -> None:
        self._own = own
        self._turns = turns
        self.next_run = next_run
        """The number of the run that is started next."""

    async def start(
        self,
        kind: Kind,
        make: MakeInput,
        summary: str,
        release: Digest | None,
        grant: Callable[[Name, Turn], Grant],
    ) -> RunStarted:
        """Start a run that changes the install; without a free turn it will ask for one itself.

        Args:
            kind: Which kind.
            make: Makes its input.
            summary: What the UI shows of it.
            release: The release that it brings, if it brings one.
            grant: What is given along with the turn, by the app and the turn.
        """
        own, turn = self._own, None
        while True:
            workflow_id = f"{kind.workflow.lower()}/{own.install}/{self._take_number()}"
            if self._turns.is_free:
                turn = self._turns.reserve(workflow_id)
            shown = {"app": own.app, "install": own.install}
            shown |= {"status": kind.working if turn else "waiting for its turn"}
            shown |= {"release": release} if release else {}
            try:
                run = await workflow.start_child_workflow(
                    kind.workflow,
                    make(own, grant(own.app, turn) if turn else None),
                    id=workflow_id,
                    # Continue-as-new ends children of any other policy.
                    parent_close_policy=ParentClosePolicy.ABANDON,
                    static_summary=f"{summary} on {own.install}",
                    search_attributes=shown_from_the_start(**shown),
                )
            except WorkflowAlreadyStartedError:
                # Somebody started a run of that name directly; the next number is free.
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
