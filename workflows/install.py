"""Install: the entity of one install. It grants turns, starts runs, and keeps the inputs."""

import asyncio

from temporalio import workflow
from temporalio.exceptions import ActivityError, ApplicationError, WorkflowAlreadyStartedError
from temporalio.workflow import ParentClosePolicy

from contracts import installs, releases
from contracts.actions import ActionInput
from contracts.activities import UNTIL_DONE
from contracts.deploys import DeployInput, Grant, Inputs
from contracts.errors import BadInput
from contracts.installs import (
    ActRequest,
    CarriedInstall,
    ConnectedWorker,
    DeployRequest,
    DescribeInput,
    InstallInput,
    InstallStatus,
    OpenRunsInput,
    RunStarted,
    SetInputs,
    TurnEnd,
    TurnRequest,
)
from contracts.messages import Turn, WorkerDescription
from contracts.names import CONTROL_QUEUE, Digest, install_queue
from contracts.releases import DeclaredInput, ReadRelease
from workflows.calls import call, call_local, failing_as_its_activity, typed_cause
from workflows.declared_inputs import merged, refuse_size, refuse_values
from workflows.identity import require_id, show, showing_its_end, shown_from_the_start
from workflows.turn_queue import TurnQueue


@workflow.defn(name="Install")
class Install:
    """Lives as long as the install does, and continues as new when its history grows."""

    def __init__(self) -> None:
        self._input: InstallInput | None = None
        self._turns: TurnQueue | None = None
        self._early: list[TurnRequest | TurnEnd] = []
        self._next_run = 1
        self._inputs = Inputs()
        self._declared: list[DeclaredInput] | None = None
        self._known: Digest | None = None
        """The release whose inputs are declared."""
        self._to_read: Digest | None = None
        self._release: Digest | None = None
        self._worker: ConnectedWorker | None = None
        self._ready = False

    @workflow.run
    async def run(self, input: InstallInput) -> None:
        """Serve the install until somebody ends it."""
        require_id("install", input.install, "")
        carried = input.carried or CarriedInstall()
        turns = self._restore(input, carried)
        show(app=input.app, install=input.install)
        with showing_its_end():
            if input.carried is None:
                with failing_as_its_activity():
                    await self._begin(input, turns)
            self._ready = True
            meeting = asyncio.create_task(self._meet_worker()) if self._worker is None else None
            self._show_details()
            await self._serve(turns)
        if meeting is not None:
            meeting.cancel()
        turns.stop_watching()
        workflow.continue_as_new(input.model_copy(update={"carried": self._carry(turns)}))

    def _restore(self, input: InstallInput, carried: CarriedInstall) -> TurnQueue:
        self._input = input
        self._next_run = carried.next_run
        self._inputs = carried.inputs
        self._declared = carried.declared
        self._known = carried.declared_by
        self._release = carried.release
        self._worker = carried.worker
        self._turns = TurnQueue(input.app, carried)
        for early in self._early:
            self._handle(early)
        return self._turns

    async def _begin(self, input: InstallInput, turns: TurnQueue) -> None:
        """Take over what a former Install of the same name left, and learn the inputs."""
        left = await call(
            installs.OPEN_RUNS,
            OpenRunsInput(install=input.install),
            queue=CONTROL_QUEUE,
            summary="open runs of this install",
        )
        turns.adopt(left.runs)
        if input.release is not None:
            graph = await call_local(
                releases.READ,
                ReadRelease(app=input.app, release=input.release),
                retry=UNTIL_DONE,
                summary="read the declared inputs",
            )
            self._declared, self._known = graph.inputs, input.release

    async def _serve(self, turns: TurnQueue) -> None:
        while True:
            await workflow.wait_condition(
                lambda: (
                    turns.has_work
                    or turns.should_stop_watching
                    or self._to_read is not None
                    or self._may_continue()
                )
            )
            if turns.should_stop_watching:
                turns.stop_watching()
            elif turns.has_work:
                await turns.advance(self._inputs)
            elif self._to_read is not None:
                await self._read_declared(self._to_read)
            else:
                return
            self._show_details()

    def _may_continue(self) -> bool:
        """Only with no handler open: an update in flight would be lost."""
        return workflow.info().is_continue_as_new_suggested() and workflow.all_handlers_finished()

    def _carry(self, turns: TurnQueue) -> CarriedInstall:
        return CarriedInstall(
            last_turn=turns.last,
            holder=turns.holder,
            queue=turns.waiting,
            next_run=self._next_run,
            inputs=self._inputs,
            declared=self._declared,
            declared_by=self._known,
            release=self._release,
            worker=self._worker,
        )

    async def _meet_worker(self) -> None:
        """Wait for the install's worker, however long: its first answer means connected."""
        if self._input is None:
            raise AssertionError("run sets the input first")
        show(status="waits for its worker")
        try:
            described = await call(
                installs.DESCRIBE,
                DescribeInput(install=self._input.install),
                queue=install_queue(self._input.install),
                summary="waits for the install worker to connect",
            )
        except ActivityError as error:
            workflow.logger.error("The install worker cannot describe itself: %s", error)
            return
        self._saw(described)
        show(status="connected")
        self._show_details()

    def _saw(self, described: WorkerDescription) -> None:
        self._worker = ConnectedWorker(description=described, seen=workflow.now().isoformat())

    async def _read_declared(self, release: Digest) -> None:
        """Learn the inputs of a release that is being deployed; the deploy tells what is wrong."""
        self._to_read = None
        if self._input is None:
            raise AssertionError("run sets the input first")
        try:
            graph = await call_local(
                releases.READ,
                ReadRelease(app=self._input.app, release=release),
                summary="read the declared inputs",
            )
        except ActivityError as error:
            cause = typed_cause(error)
            workflow.logger.warning("Cannot read %s: %s", release, cause or error)
            return
        self._declared, self._known = graph.inputs, release

    @workflow.update
    async def deploy(self, request: DeployRequest) -> RunStarted:
        """Start a deploy of the release, and return its run at once."""
        turns, own = await self._started()
        turn: Turn | None = None
        while True:
            workflow_id = f"deploy/{own.install}/{self._next_run}"
            self._next_run += 1
            if turns.is_free:
                turn = turns.reserve(workflow_id)
            grant = self._grant(own, turn) if turn else None
            try:
                run = await workflow.start_child_workflow(
                    "Deploy",
                    DeployInput(install=own.install, release=request.release, grant=grant),
                    id=workflow_id,
                    # Continue-as-new ends children of any other policy.
                    parent_close_policy=ParentClosePolicy.ABANDON,
                    static_summary=f"deploy {request.release[:19]} to {own.install}",
                    search_attributes=shown_from_the_start(
                        app=own.app,
                        install=own.install,
                        release=request.release,
                        status="deploying" if turn else "waiting for its turn",
                    ),
                )
            except WorkflowAlreadyStartedError:
                # Somebody started a run of that name directly; the next number is free.
                if turn is not None:
                    turns.withdraw(turn)
                    turn = None
                continue
            if turn is not None:
                turns.started(turn, run.first_execution_run_id or "")
            if request.release != self._known:
                self._to_read = request.release
            self._show_details()
            return RunStarted(workflow_id=workflow_id, run_id=run.first_execution_run_id or "")

    def _grant(self, own: InstallInput, turn: Turn) -> Grant:
        return Grant(turn=turn, app=own.app, inputs=self._inputs, read=self._known)

    @deploy.validator
    def _validate_deploy(self, request: DeployRequest) -> None:
        """The argument's own checks are all that can be said without asking anybody."""

    @workflow.update
    async def act(self, request: ActRequest) -> RunStarted:
        """Start an action, and return its run at once; actions take no turn."""
        _, own = await self._started()
        while True:
            workflow_id = f"action/{own.install}/{request.action}/{self._next_run}"
            self._next_run += 1
            try:
                run = await workflow.start_child_workflow(
                    "Action",
                    ActionInput(
                        install=own.install, action=request.action, release=request.release
                    ),
                    id=workflow_id,
                    parent_close_policy=ParentClosePolicy.ABANDON,
                    static_summary=f"{request.action} on {own.install}",
                )
            except WorkflowAlreadyStartedError:
                continue
            return RunStarted(workflow_id=workflow_id, run_id=run.first_execution_run_id or "")

    @act.validator
    def _validate_act(self, request: ActRequest) -> None:
        """The argument's own checks are all that can be said without asking anybody."""

    @workflow.update
    async def set_inputs(self, change: SetInputs) -> Inputs:
        """Set values of the app's inputs; the next deploy brings them to the store."""
        self._inputs = merged(self._inputs, change.values, workflow.now())
        self._show_details()
        return self._inputs

    @set_inputs.validator
    def _validate_set_inputs(self, change: SetInputs) -> None:
        if not self._ready:
            raise BadInput(
                "The install is still starting, and reads which inputs its release has; send this "
                "again in a moment."
            )
        refuse_values(change.values, self._declared)
        refuse_size(merged(self._inputs, change.values, workflow.now()))

    async def _started(self) -> tuple[TurnQueue, InstallInput]:
        """Updates may come before the first line of `run`: wait until it has adopted open runs."""
        await workflow.wait_condition(lambda: self._ready)
        if self._turns is None or self._input is None:
            raise AssertionError("ready means that both are there")
        return self._turns, self._input

    @workflow.signal
    def request_turn(self, request: TurnRequest) -> None:
        """A run that somebody started directly asks for its turn."""
        self._handle(request)

    @workflow.signal
    def end_turn(self, end: TurnEnd) -> None:
        """A run has ended."""
        self._handle(end)

    def _handle(self, message: TurnRequest | TurnEnd) -> None:
        if self._turns is None:
            self._early.append(message)
        elif isinstance(message, TurnRequest):
            self._turns.request(message)
        else:
            self._turns.end(message)
            self._release = message.release or self._release
            if message.worker is not None:
                self._saw(message.worker)
            self._show_details()

    @workflow.query
    def status(self) -> InstallStatus:
        """Who holds the turn, who waits, what runs where."""
        if self._input is None or self._turns is None:
            raise ApplicationError("The install has not begun yet.", type="NotThere")
        return InstallStatus(
            app=self._input.app,
            install=self._input.install,
            release=self._release,
            holder=self._turns.holder.turn if self._turns.holder else None,
            queue=[one.workflow_id for one in self._turns.waiting],
            inputs=self._inputs,
            declared=self._declared,
            worker=self._worker,
        )

    def _show_details(self) -> None:
        turns = self._turns
        if turns is None:
            return
        worker = (
            f"seen {self._worker.seen} on {self._worker.description.host}"
            if self._worker
            else "**has not connected yet**"
        )
        lines = [
            f"- worker: {worker}",
            f"- release: {self._release or 'none yet'}",
            f"- turn: {turns.holder.turn.workflow_id if turns.holder else 'free'}",
            *(f"- waits for the turn: {one.workflow_id}" for one in turns.waiting),
            f"- inputs: revision {self._inputs.revision}",
        ]
        workflow.set_current_details("\n".join(lines))
