"""An install under test: the real workflows, and a worker of its own whose activities are faked."""

import asyncio
import hashlib
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from datetime import timedelta
from typing import Any, TypeVar
from uuid import uuid4

import pytest
from pydantic import BaseModel
from temporalio import activity
from temporalio.client import (
    Client,
    WorkflowExecutionStatus,
    WorkflowFailureError,
    WorkflowHandle,
    WorkflowUpdateFailedError,
)
from temporalio.exceptions import ApplicationError
from temporalio.worker import Worker

from client.updates import sent_until_taken
from contracts import (
    actions,
    deploys,
    installs,
    operations,
    provisions,
    releases,
    schedules,
    stacks,
)
from contracts.actions import ActionScope, ScopeAction, StepInput, StepResult
from contracts.deploys import (
    Applied,
    ApplyInput,
    Approval,
    ChangeCounts,
    Decision,
    FinishInput,
    Inputs,
    Plan,
    PlanInput,
    PlanView,
    Scope,
    ScopeInput,
    TriggeredAction,
    ViewInput,
    Waiting,
    WaitingPlan,
)
from contracts.errors import NotThere
from contracts.installs import DescribeInput, InstallStatus
from contracts.messages import Nothing, WorkerDescription
from contracts.names import install_queue
from contracts.operations import StopInput, Stopped
from contracts.provisions import DeprovisionFinishInput, DeprovisionScopeInput
from contracts.releases import DeclaredInput, ReadRelease, ReleaseGraph
from contracts.schedules import SchedulesSet, SetSchedules, schedule_id
from contracts.stacks import RenderStack, Stack

T = TypeVar("T")
Handle = WorkflowHandle[Any, Any]

PATIENCE_SECONDS = 60
"""Far above what anything here takes."""

WORKER = WorkerDescription(
    protocol=1, features=["deploy/1"], tools={"terraform": "1.11.4"}, version="0", host="vm-1"
)


def digest(text: str) -> str:
    return "sha256:" + hashlib.sha256(text.encode()).hexdigest()


RELEASE = digest("the first release")
OTHER_RELEASE = digest("the second release")


async def until(look: Callable[[], Awaitable[T | None]]) -> T:
    """A workflow tells nobody outside of what it does: look again until there is something."""
    async with asyncio.timeout(PATIENCE_SECONDS):
        while not (found := await look()):
            await asyncio.sleep(0.02)
    return found


class FakeControl:
    """What workflows ask the control plane, for every app and install of the tests."""

    def __init__(self) -> None:
        self.schedules: dict[str, SetSchedules] = {}
        """What each install asked for last."""
        self.inputs: dict[str, list[DeclaredInput]] = {}
        self.requires: dict[str, list[str]] = {}
        """What the releases of an app require of a worker."""
        self.unknown: set[tuple[str, str]] = set()
        """Releases that are not of that app."""
        self.read_by: list[str] = []
        self.broken: dict[str, list[Exception]] = {}
        """By app or install: what is raised instead of the next answers."""
        self.behind_gateway: set[str] = set()
        """Installs whose workers enrol."""

    @activity.defn(name=releases.READ.name)
    async def read(self, input: ReadRelease) -> ReleaseGraph:
        self.read_by.append(activity.info().workflow_id or "")
        self._refuse(input.app)
        if input.app not in self.inputs:
            raise NotThere(f"there is no app {input.app}")
        if (input.app, input.release) in self.unknown:
            raise NotThere(f"there is no release {input.release} of {input.app}")
        inputs = self.inputs[input.app]
        return ReleaseGraph(
            app=input.app,
            release=input.release,
            components=[],
            inputs=inputs,
            requires=self.requires.get(input.app, []),
        )

    @activity.defn(name=stacks.RENDER_STACK.name)
    async def render(self, input: RenderStack) -> Stack:
        self._refuse(f"stack of {input.install}")
        token_file = "enrolment-token" if input.install in self.behind_gateway else ""
        return Stack(kind="systemd", files={"README.md": input.install}, token_file=token_file)

    def _refuse(self, whose: str) -> None:
        if self.broken.get(whose):
            raise self.broken[whose].pop(0)

    @activity.defn(name=schedules.SET_SCHEDULES.name)
    async def set_schedules(self, input: SetSchedules) -> SchedulesSet:
        self.schedules[input.install] = input
        return SchedulesSet(
            schedules=[schedule_id(input.install, one.action, 0) for one in input.actions]
        )


def decision(component: str, *after: str, verb: str = "plan", **more: Any) -> Decision:
    fields = {
        "type": "terraform_module",
        "reason": "it was not deployed before",
        "release": RELEASE,
    }
    return Decision.model_validate(
        {"component": component, "verb": verb, "after": after, **fields, **more}
    )


def plan_of(text: str, **more: Any) -> Plan:
    return Plan.model_validate(
        {"digest": digest(text), "changes": ChangeCounts(create=1), "empty": False}
        | {"state_revision": 0}
        | more
    )


NO_CHANGES = plan_of("nothing", empty=True, changes=ChangeCounts())


class FakeWorker:
    """The install worker's activities: they note what they were told, and answer as scripted."""

    def __init__(self) -> None:
        self.decisions: list[Decision] = [decision("net")]
        self.actions: list[TriggeredAction] = []
        self.provisioned = False
        self.answers: dict[str, list[Any]] = {}
        """By `<verb> <component>`: results or errors, the last of which stays."""
        self.gates: dict[str, asyncio.Event] = {}
        """By the same: held until the event is set."""
        self.deaf = False
        """Hears of no cancel while it is held: it has ended before it could."""
        self.planned: dict[str, str] = {}
        """The digest of each plan, by the key of the operation that made it."""
        self.inputs: list[Any] = []
        self.begun: list[str] = []
        self.ended: list[str] = []
        self._changed = asyncio.Event()

    def told(self, model: type[T]) -> list[T]:
        return [one for one in self.inputs if isinstance(one, model)]

    def gate(self, *what: str) -> asyncio.Event:
        event = asyncio.Event()
        self.gates.update(dict.fromkeys(what, event))
        return event

    async def wait_for(self, *what: str) -> None:
        """Until all of these have begun."""
        async with asyncio.timeout(PATIENCE_SECONDS):
            while not set(what) <= set(self.begun):
                self._changed.clear()
                await self._changed.wait()

    async def passed(self, seconds: float) -> None:
        """Let time pass: nothing happens at the end of it."""
        await asyncio.sleep(seconds)

    async def _answer(self, what: str, input: BaseModel, otherwise: T) -> T:
        self.inputs.append(input)
        self.begun.append(what)
        self._changed.set()
        try:
            await self._held(what)
        finally:
            self.ended.append(what)
        answers = self.answers.get(what, [otherwise])
        answer = answers.pop(0) if len(answers) > 1 else answers[0]
        if isinstance(answer, Exception):
            raise answer
        return answer  # type: ignore[no-any-return]

    async def _held(self, what: str) -> None:
        if what not in self.gates:
            return
        waiting = asyncio.ensure_future(self.gates[what].wait())
        try:
            while not waiting.done():
                if not self.deaf:
                    activity.heartbeat()
                await asyncio.wait({waiting}, timeout=0.1)
        finally:
            waiting.cancel()

    @activity.defn(name=deploys.SCOPE.name)
    async def scope(self, input: ScopeInput) -> Scope:
        return await self._answer("scope", input, self._scope())

    def _scope(self) -> Scope:
        return Scope(
            decisions=self.decisions,
            state_revision=1,
            worker=WORKER,
            actions=self.actions,
            provisioned=self.provisioned,
        )

    @activity.defn(name=provisions.PROVISION_SCOPE.name)
    async def provision_scope(self, input: ScopeInput) -> Scope:
        return await self._answer("provision scope", input, self._scope())

    @activity.defn(name=provisions.PROVISION_FINISH.name)
    async def provision_finish(self, input: FinishInput) -> Nothing:
        return await self._answer("provision finish", input, Nothing())

    @activity.defn(name=provisions.DEPROVISION_SCOPE.name)
    async def deprovision_scope(self, input: DeprovisionScopeInput) -> Scope:
        return await self._answer("deprovision scope", input, self._scope())

    @activity.defn(name=provisions.DEPROVISION_FINISH.name)
    async def deprovision_finish(self, input: DeprovisionFinishInput) -> Nothing:
        return await self._answer("deprovision finish", input, Nothing())

    @activity.defn(name=deploys.FINISH.name)
    async def finish(self, input: FinishInput) -> Nothing:
        return await self._answer("finish", input, Nothing())

    @activity.defn(name=deploys.TERRAFORM_PLAN.name)
    async def plan(self, input: PlanInput) -> Plan:
        plan = await self._answer(f"plan {input.component}", input, plan_of(input.key))
        if isinstance(plan, Plan):
            self.planned[input.key] = plan.digest
        return plan

    @activity.defn(name=deploys.TERRAFORM_APPLY.name)
    async def apply(self, input: ApplyInput) -> Applied:
        return await self._answer(f"apply {input.component}", input, Applied(state_revision=2))

    @activity.defn(name=deploys.VIEW.name)
    async def view(self, input: ViewInput) -> PlanView:
        page = PlanView(
            component=input.component,
            digest=self.planned[input.plan_key],
            text="+ net",
            page=input.page,
            pages=3,
        )
        return await self._answer("view", input, page)

    @activity.defn(name=actions.SCOPE.name)
    async def action_scope(self, input: ScopeAction) -> ActionScope:
        scope = ActionScope(
            app=input.install,
            release=RELEASE,
            steps=["look", "tell"],
            timeout_seconds=60,
            state_revision=4,
        )
        return await self._answer("action scope", input, scope)

    @activity.defn(name=actions.STEP.name)
    async def action_step(self, input: StepInput) -> StepResult:
        name = f"step {input.step}"
        if input.trigger != "manual":
            self.begun.append(f"{input.action} by {input.trigger}")
        return await self._answer(name, input, StepResult(step=name, state_revision=5 + input.step))

    @activity.defn(name=operations.STOP.name)
    async def stop(self, input: StopInput) -> Stopped:
        return await self._answer(f"stop {input.subject}", input, Stopped())

    @activity.defn(name=installs.DESCRIBE.name)
    async def describe(self, input: DescribeInput) -> WorkerDescription:
        return await self._answer("describe", input, WORKER)

    def activities(self) -> list[Callable[..., Any]]:
        return [
            self.scope, self.finish, self.plan, self.apply, self.view, self.action_scope,
            self.action_step, self.stop, self.describe, self.provision_scope,
            self.provision_finish, self.deprovision_scope, self.deprovision_finish,
        ]  # fmt: skip


class Site:
    """One install with its Install workflow and its worker."""

    def __init__(self, client: Client, install: str) -> None:
        self.client = client
        self.install = install
        self.app = install
        self.worker = FakeWorker()

    @asynccontextmanager
    async def serving(self) -> AsyncIterator[None]:
        worker = Worker(
            self.client,
            task_queue=install_queue(self.install),
            activities=self.worker.activities(),
            max_heartbeat_throttle_interval=timedelta(milliseconds=50),
            graceful_shutdown_timeout=timedelta(seconds=0),
        )
        async with worker:
            yield

    async def start(self, type: str, id: str, *args: Any, **more: Any) -> Handle:
        return await self.client.start_workflow(
            type, args=list(args), id=id, task_queue="control", **more
        )

    async def begin(self, *, release: str | None = None) -> Handle:
        """Start Install."""
        input = {"install": self.install, "app": self.app}
        more = {"release": release} if release else {}
        return await self.start("Install", f"install/{self.install}", input | more)

    @property
    def entity(self) -> Handle:
        return self.client.get_workflow_handle(f"install/{self.install}")

    async def status(self) -> InstallStatus:
        found: InstallStatus = await self.entity.query("status", result_type=InstallStatus)
        return found

    async def knows_its_inputs(self) -> None:
        """Until Install, which was started with a release, has read it."""

        async def look() -> bool:
            return await self.set_inputs({}) is not None

        await until(look)

    async def set_inputs(self, values: dict[str, str | None]) -> Inputs | None:
        """The new revision; None where Install has only just started and says so."""
        update_id = str(uuid4())

        def send() -> Awaitable[Inputs]:
            return self.entity.execute_update(
                "set_inputs", {"values": values}, id=update_id, result_type=Inputs
            )

        try:
            inputs = await sent_until_taken(send)
        except WorkflowUpdateFailedError as error:
            assert "again" in str(error.cause), f"says what to do next: {error.cause}"
            return None
        return inputs

    async def deploy(self, release: str = RELEASE) -> Handle:
        """By the update on Install."""
        return await self.run("deploy", {"release": release})

    async def run(self, update: str, request: dict[str, Any]) -> Handle:
        """What an update on Install starts."""
        started = await self.entity.execute_update(update, request)
        return self.client.get_workflow_handle(started["workflow_id"], run_id=started["run_id"])

    async def deploy_directly(self, rest: str, **more: Any) -> Handle:
        """As a person would, or a schedule."""
        input = {"install": self.install, "release": RELEASE}
        return await self.start("Deploy", f"deploy/{self.install}/{rest}", input | more)

    async def waits_for_turn(self, run: Handle) -> None:
        async def look() -> bool:
            return "its turn" in (await waiting(run)).waits_for

        await until(look)

    async def queue(self, *runs: Handle) -> None:
        """Until exactly these wait for the turn, in this order."""

        async def look() -> bool:
            return (await self.status()).queue == [run.id for run in runs]

        await until(look)

    async def holder(self, run: Handle | None) -> None:
        """Until this run, or none, holds the turn."""

        async def look() -> bool:
            holder = (await self.status()).holder
            return (holder.workflow_id if holder else None) == (run.id if run else None)

        await until(look)


async def waiting(run: Handle) -> Waiting:
    found: Waiting = await run.query("waiting", result_type=Waiting)
    return found


async def asked(run: Handle, component: str) -> WaitingPlan:
    """The component's plan, once it waits for an approval."""

    async def look() -> WaitingPlan | None:
        plans = (await waiting(run)).plans
        return next((one for one in plans if one.component == component), None)

    return await until(look)


async def approve(run: Handle, *components: str) -> None:
    for component in components:
        plan = await asked(run, component)
        await run.execute_update("approve", Approval(digest=plan.digest, by="ann"))


async def outcomes(run: Handle) -> dict[str, str]:
    """What became of each component of a run that ended well."""
    async with asyncio.timeout(PATIENCE_SECONDS):
        result = await run.result()
    parts = result["components"] if "components" in result else [result["sandbox"]]
    return {one["component"]: one["outcome"] for one in parts if one}


async def failure(run: Handle) -> ApplicationError:
    """The typed error that the workflow failed with, at once."""
    with pytest.raises(WorkflowFailureError) as caught:
        async with asyncio.timeout(PATIENCE_SECONDS):
            await run.result()
    assert isinstance(caught.value.cause, ApplicationError), repr(caught.value.cause)
    return caught.value.cause


async def refusal(run: Handle, update: str, *args: Any) -> ApplicationError:
    """The typed error that the update is refused with, at once."""
    with pytest.raises(WorkflowUpdateFailedError) as caught:
        async with asyncio.timeout(PATIENCE_SECONDS):
            await run.execute_update(update, args=list(args))
    assert isinstance(caught.value.cause, ApplicationError), repr(caught.value.cause)
    return caught.value.cause


async def ended(run: Handle) -> WorkflowExecutionStatus:
    """How the run ended, without its result."""

    async def look() -> WorkflowExecutionStatus | None:
        status = (await run.describe()).status
        return status if status != WorkflowExecutionStatus.RUNNING else None

    return await until(look)
