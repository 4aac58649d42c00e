"""A run's side of the turn: how it asks for the right to change its install, and gives it back."""

from dataclasses import dataclass, field
from datetime import timedelta

from temporalio import workflow
from temporalio.exceptions import ApplicationError

from contracts.deploys import ComponentOutcome, Grant
from contracts.errors import BadInput, NotThere
from contracts.installs import RunTurn, TurnEnd, TurnRequest
from contracts.messages import WorkerDescription
from contracts.names import Digest, install_workflow_id
from workflows.calls import end_if_cancelled

_ASK_AGAIN = timedelta(seconds=5)
_ASK_AGAIN_AT_MOST = timedelta(hours=1)
"""A restarted Install finds the open runs in an index that lags behind, and may miss this one. So a
run asks again, after intervals that double."""


@dataclass
class Learnt:
    """What a run leaves for the Install workflow, when it ends; see `TurnEnd`."""

    release: Digest | None = None
    worker: WorkerDescription | None = None
    target: Digest | None = None
    outcomes: list[ComponentOutcome] = field(default_factory=list)
    failure: str = ""
    provisioned: bool | None = None
    schedules: list[str] | None = None


class RunsTurn:
    """Held by each workflow that changes an install."""

    def __init__(self) -> None:
        self._grant: Grant | None = None
        self._wants = False
        self._release: Digest | None = None

    def granted(self, grant: Grant) -> None:
        """Take the turn that Install has granted; called by the run's signal handler."""
        self._grant = grant

    def view(self) -> RunTurn:
        """Whether the run holds or wants the turn, for an Install that has just started."""
        return RunTurn(
            turn=self._grant.turn if self._grant else None,
            wants=self._wants,
            release=self._release,
        )

    @property
    def is_wanted(self) -> bool:
        """Whether the run waits for its turn."""
        return self._wants and self._grant is None

    async def take(self, install: str, release: Digest | None, given: Grant | None) -> Grant:
        """Take the turn that came with the input, or ask the Install workflow and wait.

        Args:
            install: The install.
            release: The release that the run brings, if it brings one.
            given: The grant that came with the input.

        Raises:
            BadInput: the input has a grant, but the Install workflow did not start this run.
            NotThere: no Install workflow runs for this install.
        """
        info = workflow.info()
        self._release = release
        if given is not None:
            if info.parent is None or info.parent.workflow_id != install_workflow_id(install):
                raise BadInput(
                    "Only the Install workflow may set `grant`; start the run without it, and it "
                    "will ask for its turn."
                )
            self._grant = given
            return given
        self._wants = True
        try:
            await self._ask(install)
        except ApplicationError as error:
            raise NotThere(
                f"There is no running Install for {install!r} ({error.message}). Start it first: "
                f"temporal workflow start --type Install --task-queue control --workflow-id "
                f'{install_workflow_id(install)} --input \'{{"install": "{install}", '
                f'"app": "<app>"}}\' --id-conflict-policy Fail'
            ) from error
        return await self._granted_in_time(install)

    async def _granted_in_time(self, install: str) -> Grant:
        patience = _ASK_AGAIN
        while self._grant is None:
            end_if_cancelled()
            try:
                await workflow.wait_condition(lambda: self._grant is not None, timeout=patience)
            except TimeoutError:
                patience = min(patience * 2, _ASK_AGAIN_AT_MOST)
                try:
                    await self._ask(install)
                except ApplicationError as error:
                    workflow.logger.info("There is no Install to ask at the moment: %s", error)
        return self._grant

    async def _ask(self, install: str) -> None:
        """Ask Install for the turn; raises ApplicationError if no Install runs."""
        info = workflow.info()
        await workflow.get_external_workflow_handle(install_workflow_id(install)).signal(
            "request_turn",
            TurnRequest(workflow_id=info.workflow_id, run_id=info.run_id, release=self._release),
        )

    async def give_back(self, install: str, learnt: Learnt) -> None:
        """Report the end of the run to the Install workflow; never fails the run.

        Args:
            install: The install.
            learnt: What the run leaves.
        """
        if self._grant is None and not self._wants:
            return
        info = workflow.info()
        end = TurnEnd(
            workflow_id=info.workflow_id,
            run_id=info.run_id,
            turn=self._grant.turn if self._grant else None,
            inputs=self._grant.inputs if self._grant and learnt.release else None,
            release=learnt.release,
            worker=learnt.worker,
            target=learnt.target,
            outcomes=learnt.outcomes,
            failure=learnt.failure,
            provisioned=learnt.provisioned,
            schedules=learnt.schedules,
        )
        try:
            await workflow.get_external_workflow_handle(install_workflow_id(install)).signal(
                "end_turn", end
            )
        except ApplicationError as error:
            workflow.logger.warning("The end was not reported to the Install workflow: %s", error)
