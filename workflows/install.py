"""Install: the entity of one install. It grants turns, starts runs, and keeps the inputs."""

import asyncio

from temporalio import workflow
from temporalio.exceptions import ActivityError, ApplicationError

from contracts import installs, stacks
from contracts.builds import app_repository
from contracts.deploys import Grant, Inputs
from contracts.errors import BadAnswer, BadInput
from contracts.installs import (
    ActRequest,
    CarriedInstall,
    ConnectedWorker,
    DeployRequest,
    DeprovisionRequest,
    DescribeInput,
    InstallInput,
    InstallReleases,
    InstallStatus,
    OpenRunsInput,
    ProvisionRequest,
    RollbackRequest,
    RunStarted,
    SetInputs,
    TurnEnd,
    TurnRequest,
)
from contracts.messages import Turn, WorkerDescription
from contracts.names import CONTROL_QUEUE, Digest, Name, install_queue
from contracts.stacks import RenderStack, Stack
from workflows.calls import call, end_if_cancelled, until_it_is_done, without_local_activities
from workflows.installs import starting
from workflows.installs.details import install_details
from workflows.installs.inputs import InstallInputs, merged, refuse_size, refuse_values
from workflows.installs.pullable_releases import PullableReleases
from workflows.installs.standing import Standing
from workflows.installs.starting import NewRun, RunStarter
from workflows.installs.turn_queue import TurnQueue
from workflows.search_attributes import require_id, show, showing_its_end


@workflow.defn(name="Install")
class Install:
    """Lives as long as the install does, and continues as new when its history grows."""

    def __init__(self) -> None:
        self._input: InstallInput | None = None
        self._turns: TurnQueue | None = None
        self._early: list[TurnRequest | TurnEnd] = []
        self._starter: RunStarter | None = None
        self._inputs = InstallInputs(CarriedInstall())
        self._standing = Standing(CarriedInstall())
        self._releases = PullableReleases(CarriedInstall())
        self._shown = ("", "")
        """The status and release that the search attributes show."""
        self._stack: Stack | None = None
        self._worker: ConnectedWorker | None = None
        self._ready = False
        self._local = False

    @workflow.run
    async def run(self, input: InstallInput) -> None:
        """Serve the install until somebody ends this workflow."""
        self._local = not without_local_activities()
        require_id("install", input.install, "")
        carried = input.carried or CarriedInstall()
        turns = self._restore(input, carried)
        show(app=input.app, install=input.install)
        with showing_its_end():
            if input.carried is None:
                await self._begin(input, turns)
            self._ready = True
            meeting = asyncio.create_task(self._meet_worker()) if self._worker is None else None
            self._show_details()
            await self._serve(input.app, turns)
        if meeting is not None:
            meeting.cancel()
        turns.stop_watching()
        workflow.continue_as_new(input.model_copy(update={"carried": self._carry(turns)}))

    def _restore(self, input: InstallInput, carried: CarriedInstall) -> TurnQueue:
        self._input = input
        self._inputs = InstallInputs(carried)
        self._standing = Standing(carried)
        self._releases = PullableReleases(carried)
        self._stack = carried.stack
        self._worker = carried.worker
        self._turns = TurnQueue(input.app, carried)
        self._starter = RunStarter(input, self._turns, carried.next_run)
        for early in self._early:
            self._handle(early)
        return self._turns

    async def _begin(self, input: InstallInput, turns: TurnQueue) -> None:
        """Take over the runs of an earlier Install of the same name, and read the inputs."""
        left = await until_it_is_done(
            lambda: call(
                installs.OPEN_RUNS,
                OpenRunsInput(install=input.install),
                queue=CONTROL_QUEUE,
                summary="open runs of this install",
            )
        )
        turns.adopt(left.runs)
        for run in left.runs:
            self._releases.request(run.release)
        if input.release is not None:
            await self._inputs.read_first(input.app, input.release, local=self._local)
        if workflow.patched("stack"):
            self._stack = await until_it_is_done(
                lambda: call(
                    stacks.RENDER_STACK,
                    RenderStack(install=input.install, app=input.app, store=input.store),
                    queue=CONTROL_QUEUE,
                    summary="render the stack for the customer",
                )
            )

    async def _serve(self, app: Name, turns: TurnQueue) -> None:
        while True:
            end_if_cancelled()
            await workflow.wait_condition(
                lambda: (
                    turns.has_work
                    or turns.should_stop_watching
                    or self._inputs.unread is not None
                    or self._has_news
                    or self._may_continue()
                )
            )
            if turns.should_stop_watching:
                turns.stop_watching()
            elif turns.has_work:
                await turns.advance(self._inputs.current, self._standing.schedules)
            elif self._inputs.unread is not None:
                await self._inputs.read(app, self._inputs.unread, local=self._local)
            elif self._has_news:
                self._show_standing()
            else:
                return
            self._show_details()

    @property
    def _has_news(self) -> bool:
        """Whether a run has changed what the search attributes should show."""
        return self._shown != (self._standing.status, self._standing.release or "")

    def _show_standing(self) -> None:
        self._shown = (self._standing.status, self._standing.release or "")
        # Until its worker connects, the install shows that it waits for it.
        if self._worker is not None and workflow.patched("install-shows-its-runs"):
            show(status=self._shown[0], release=self._shown[1])

    def _may_continue(self) -> bool:
        """Only while no handler is open, since an update in flight would be lost."""
        return workflow.info().is_continue_as_new_suggested() and workflow.all_handlers_finished()

    def _carry(self, turns: TurnQueue) -> CarriedInstall:
        return CarriedInstall(
            last_turn=turns.last,
            holder=turns.holder,
            queue=turns.waiting,
            next_run=self._starter.next_run if self._starter else 1,
            inputs=self._inputs.current,
            declared=self._inputs.declared,
            declared_by=self._inputs.declared_by,
            release=self._standing.release,
            worker=self._worker,
            stack=self._stack,
            provisioned=self._standing.provisioned,
            parts=self._standing.parts,
            failure=self._standing.failure,
            before=self._standing.before,
            schedules=self._standing.schedules,
            told=self._releases.newest,
            made=self._releases.made,
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
        except (ActivityError, BadAnswer) as error:
            # The next run reaches the worker, too, and fails if its answers are wrong.
            workflow.logger.error("The install worker cannot describe itself: %s", error)
            return
        self._saw(described)
        show(status="connected")
        self._show_details()

    def _saw(self, described: WorkerDescription) -> None:
        self._worker = ConnectedWorker(description=described, seen=workflow.now().isoformat())

    @workflow.update
    async def deploy(self, request: DeployRequest) -> RunStarted:
        """Start a deploy of the release, and return its run at once."""
        return await self._start(starting.deploy(request.release))

    async def _start(self, new: NewRun) -> RunStarted:
        starter = await self._started()
        self._releases.request(new.release)
        run = await starter.start(new, self._grant)
        self._inputs.brought(new.release)
        self._show_details()
        return run

    def _grant(self, app: Name, turn: Turn) -> Grant:
        return Grant(
            turn=turn,
            app=app,
            inputs=self._inputs.current,
            read=self._inputs.declared_by,
            schedules=self._standing.schedules,
        )

    @deploy.validator
    def _validate_deploy(self, request: DeployRequest) -> None:
        """The argument's own checks are all; a validator has them made before the acceptance."""

    @workflow.update
    async def provision(self, request: ProvisionRequest) -> RunStarted:
        """Start a provision of the release's sandbox, and return its run at once."""
        return await self._start(starting.provision(request.release))

    @provision.validator
    def _validate_provision(self, request: ProvisionRequest) -> None:
        """The argument's own checks are all; a validator has them made before the acceptance."""

    @workflow.update
    async def deprovision(self, request: DeprovisionRequest) -> RunStarted:
        """Start to tear everything down, and return the run at once."""
        return await self._start(starting.deprovision())

    @deprovision.validator
    def _validate_deprovision(self, request: DeprovisionRequest) -> None:
        """The argument's own checks are all; a validator has them made before the acceptance."""

    @workflow.update
    async def rollback(self, request: RollbackRequest) -> RunStarted:
        """Start a deploy of an earlier release, on request with its inputs of that time."""
        release = request.release or self._standing.release_before()
        if request.inputs:
            self._inputs.current = self._inputs_under(release)
        return await self._start(starting.deploy(release, "roll back to"))

    def _inputs_under(self, release: Digest) -> Inputs:
        return self._standing.inputs_of(release, self._inputs.current, workflow.now())

    @rollback.validator
    def _validate_rollback(self, request: RollbackRequest) -> None:
        if not self._ready:
            raise BadInput(
                "The install is still starting, and does not know yet what it has run. Try again "
                "in a moment."
            )
        release = request.release or self._standing.release_before()
        if request.inputs:
            refuse_size(self._inputs_under(release))

    @workflow.update
    async def act(self, request: ActRequest) -> RunStarted:
        """Start an action, and return its run at once; actions need no turn."""
        starter = await self._started()
        self._releases.request(request.release)
        return await starter.act(request.action, request.release)

    @act.validator
    def _validate_act(self, request: ActRequest) -> None:
        """The argument's own checks are all; a validator has them made before the acceptance."""

    @workflow.update
    async def set_inputs(self, change: SetInputs) -> Inputs:
        """Set values of the app's inputs; the next deploy brings them to the store."""
        self._inputs.current = merged(self._inputs.current, change.values, workflow.now())
        self._show_details()
        return self._inputs.current

    @set_inputs.validator
    def _validate_set_inputs(self, change: SetInputs) -> None:
        if not self._ready:
            raise BadInput(
                "The install is still starting, and does not know yet which inputs its release "
                "has. Try again in a moment."
            )
        refuse_values(change.values, self._inputs.declared)
        refuse_size(merged(self._inputs.current, change.values, workflow.now()))

    async def _started(self) -> RunStarter:
        """Wait until open runs are adopted, since updates may arrive before `run` has started."""
        await workflow.wait_condition(lambda: self._ready)
        if self._starter is None:
            raise AssertionError("ready means that it is there")
        return self._starter

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
            self._releases.request(message.release)
            self._turns.request(message)
        else:
            self._turns.end(message)
            self._standing.learn(message, workflow.now())
            self._releases.learn(message)
            if message.worker is not None:
                self._saw(message.worker)
            self._show_details()

    @workflow.query
    def status(self) -> InstallStatus:
        """Which run holds the turn, which runs wait, and what is deployed."""
        if self._input is None or self._turns is None:
            raise ApplicationError("The install has not begun yet.", type="NotThere")
        return InstallStatus(
            app=self._input.app,
            install=self._input.install,
            release=self._standing.release,
            holder=self._turns.holder.turn if self._turns.holder else None,
            queue=[one.workflow_id for one in self._turns.waiting],
            inputs=self._inputs.current,
            declared=self._inputs.declared,
            worker=self._worker,
            provisioned=self._standing.provisioned,
            parts=self._standing.parts,
            failure=self._standing.failure,
            before=self._standing.before,
            schedules=self._standing.schedules,
        )

    @workflow.query
    def releases(self) -> InstallReleases:
        """The releases that the install's worker may pull."""
        if self._input is None:
            raise ApplicationError("The install has not begun yet.", type="NotThere")
        return InstallReleases(
            repository=app_repository(self._input.app), releases=self._releases.all
        )

    @workflow.query
    def stack(self) -> Stack:
        """What the customer applies to have the install's worker run in their account."""
        if self._stack is None:
            raise ApplicationError("The stack is not rendered yet.", type="NotThere")
        return self._stack

    def _show_details(self) -> None:
        if self._turns is not None:
            workflow.set_current_details(
                install_details(self._worker, self._turns, self._inputs.current, self._standing)
            )
