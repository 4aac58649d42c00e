"""Every kind of run is cancelled in every state, with keys: it ends so, and nothing wedges.

Before an activity has started, Temporal answers for it itself, in words that no key has encrypted.
"""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import suppress
from dataclasses import dataclass

import pytest
import pytest_asyncio
from pydantic import BaseModel
from temporalio.api.enums.v1 import EventType
from temporalio.client import WorkflowExecutionStatus

from contracts import actions, builds, deploys, installs, operations, provisions
from contracts.actions import ActionScope, StepResult
from contracts.builds import AssembledRelease, Blob, CheckedSource, PackedComponent
from contracts.deploys import Applied, Scope, TriggeredAction
from contracts.messages import Nothing
from contracts.operations import Stopped
from tests.workflows.encrypted_plane import EncryptedPlane, encrypted_plane
from tests.workflows.hand_worker import HandWorker, Task
from tests.workflows.workflow_site import (
    PATIENCE_SECONDS,
    RELEASE,
    WORKER,
    Handle,
    Site,
    approve,
    asked,
    decision,
    digest,
    ended,
    plan_of,
)

pytestmark = pytest.mark.asyncio(loop_scope="module")

SCHEDULED = EventType.EVENT_TYPE_ACTIVITY_TASK_SCHEDULED
CANCELED = EventType.EVENT_TYPE_ACTIVITY_TASK_CANCELED
FAILED_TASK = EventType.EVENT_TYPE_WORKFLOW_TASK_FAILED


def blob(name: str) -> Blob:
    return Blob(media_type="m", artifact_type="a", digest=digest(name), size=1)


def scope(*triggered: str) -> Scope:
    run = [TriggeredAction(action="health", trigger=one) for one in triggered]
    return Scope(decisions=[decision("net")], state_revision=1, worker=WORKER, actions=run)


BEFORE_ALL = "pre-deploy-all-components"
ACTION = ActionScope(
    app="shop", release=RELEASE, steps=["look", "tell"], timeout_seconds=60, state_revision=4
)
ANSWERS: dict[str, BaseModel] = {
    installs.DESCRIBE.name: WORKER,
    deploys.SCOPE.name: scope(),
    deploys.FINISH.name: Nothing(),
    provisions.PROVISION_SCOPE.name: scope(),
    provisions.PROVISION_FINISH.name: Nothing(),
    provisions.DEPROVISION_SCOPE.name: scope(),
    provisions.DEPROVISION_FINISH.name: Nothing(),
    deploys.TERRAFORM_PLAN.name: plan_of("net"),
    deploys.TERRAFORM_APPLY.name: Applied(state_revision=2),
    operations.STOP.name: Stopped(),
    actions.SCOPE.name: ACTION,
    actions.STEP.name: StepResult(step="look", state_revision=5),
    builds.CHECK.name: CheckedSource(config=blob("config"), components=["net"]),
    builds.PACK.name: PackedComponent(component="net", artifact=blob("net"), reused=False),
    builds.ASSEMBLE.name: AssembledRelease(release=digest("release"), reused=False),
}
"""What a worker answers to each activity."""

OF_DEPLOY = ["deploy.scope", "terraform.plan", "terraform.apply", "deploy.finish"]
KINDS = {
    "deploy": OF_DEPLOY,
    "rollback": OF_DEPLOY,
    "provision": ["provision.scope", "terraform.plan", "terraform.apply", "provision.finish"],
    "deprovision": ["deprovision.scope", "terraform.plan", "terraform.apply", "deprovision.finish"],
    "act": ["action.scope", "action.step", "action.step"],
    "build": ["build.check", "build.pack", "build.assemble"],
    "child-action": ["deploy.scope", "action.scope", "action.step", "action.step"],
}
"""The activities of each kind of run, in their order."""


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def plane() -> AsyncIterator[EncryptedPlane]:
    async with encrypted_plane() as started:
        yield started


@dataclass
class Driven:
    """A run whose worker is the test."""

    site: Site
    worker: HandWorker
    run: Handle
    triggered: Sequence[str] = ()

    async def answer(self, task: Task) -> None:
        answer = ANSWERS[task.type]
        if task.type == actions.SCOPE.name:
            answer = ACTION.model_copy(update={"app": self.site.app})
        elif task.type.endswith(".scope") and self.triggered:
            answer = scope(*self.triggered)
        await self.worker.complete(task, answer)

    async def go_to(self, activities: Sequence[str], *, approves: bool = True) -> None:
        """Answer these, the first ones of the run."""
        for name in activities:
            if name == deploys.TERRAFORM_APPLY.name and approves:
                await approve(self.run, "net")
            task = await self.worker.take()
            assert task.type == name
            await self.answer(task)

    async def answer_all(self) -> None:
        """Answer whatever comes, for ever."""
        while True:
            await self.answer(await self.worker.take())


async def begun(plane: EncryptedPlane, install: str, kind: str) -> Driven:
    """A run of a kind that was just started, in an install that has met its worker."""
    site = Site(plane.client, install)
    plane.releases.inputs[site.app] = []
    if kind == "build":
        run = await site.start(
            "Build", f"build/{install}/1", {"app": install, "source": digest("source")}
        )
        return Driven(site, plane.build_worker(), run)
    worker = plane.install_worker(install)
    await site.begin()
    await worker.complete(await worker.take(), WORKER)
    match kind:
        case "provision":
            run = await site.run("provision", {"release": RELEASE})
        case "rollback":
            run = await site.run("rollback", {"release": RELEASE})
        case "deprovision":
            run = await site.run("deprovision", {})
        case "act":
            run = await site.run("act", {"action": "health"})
        case _:
            run = await site.deploy()
    return Driven(site, worker, run, [BEFORE_ALL] if kind == "child-action" else [])


async def until_event(run: Handle, kind: "EventType.ValueType", name: str, times: int = 1) -> None:
    """Until it has happened so often to the activity, in the run or in an action of it."""
    scheduled: dict[int, str] = {}
    async for event in run.fetch_history_events(wait_new_event=True):
        child = event.child_workflow_execution_started_event_attributes.workflow_execution
        if child.workflow_id and name.startswith("action."):
            return await until_event(of_id(run, child.workflow_id), kind, name, times)
        if event.event_type == SCHEDULED:
            of = event.activity_task_scheduled_event_attributes
            scheduled[event.event_id] = of.activity_type.name
        if event.event_type == kind:
            begun = getattr(event, event.WhichOneof("attributes") or "")
            id = event.event_id if kind == SCHEDULED else begun.scheduled_event_id
            times -= scheduled[id] == name
            if not times:
                return None
    raise AssertionError(f"{run.id} ended before")


def of_id(run: Handle, workflow_id: str) -> Handle:
    return run._client.get_workflow_handle(workflow_id)


async def nothing_wedged(run: Handle) -> None:
    """No task of the run failed, and none of what it started."""
    async for event in run.fetch_history_events():
        assert event.event_type != FAILED_TASK, event
        child = event.child_workflow_execution_started_event_attributes.workflow_execution
        if child.workflow_id:
            await nothing_wedged(of_id(run, child.workflow_id))


async def ends_cancelled(driven: Driven) -> None:
    """With its worker there, the run ends so, and leaves the turn free."""
    answering = asyncio.create_task(driven.answer_all())
    try:
        async with asyncio.timeout(PATIENCE_SECONDS):
            assert await ended(driven.run) == WorkflowExecutionStatus.CANCELED
    finally:
        answering.cancel()
        with suppress(asyncio.CancelledError):
            await answering
    await nothing_wedged(driven.run)
    if not driven.run.id.startswith("build/"):
        await driven.site.holder(None)


STATES = [(kind, number) for kind, activities in KINDS.items() for number in range(len(activities))]


@pytest.mark.parametrize(
    ("kind", "number"), STATES, ids=[f"{kind}-{KINDS[kind][at]}-{at}" for kind, at in STATES]
)
async def test_before_an_activity_has_started(
    plane: EncryptedPlane, install: str, kind: str, number: int
) -> None:
    driven = await begun(plane, install, kind)
    activities = KINDS[kind]
    await driven.go_to(activities[:number])
    if activities[number] == deploys.TERRAFORM_APPLY.name:
        await approve(driven.run, "net")
    name = activities[number]
    await until_event(driven.run, SCHEDULED, name, activities[: number + 1].count(name))
    await driven.run.cancel()
    # By Temporal itself: nobody had taken it.
    await until_event(driven.run, CANCELED, name)
    await ends_cancelled(driven)


@pytest.mark.parametrize(
    ("kind", "number"), STATES, ids=[f"{kind}-{KINDS[kind][at]}-{at}" for kind, at in STATES]
)
async def test_while_an_activity_runs(
    plane: EncryptedPlane, install: str, kind: str, number: int
) -> None:
    driven = await begun(plane, install, kind)
    activities = KINDS[kind]
    await driven.go_to(activities[:number])
    if activities[number] == deploys.TERRAFORM_APPLY.name:
        await approve(driven.run, "net")
    task = await driven.worker.take()
    await driven.run.cancel()
    async with asyncio.timeout(PATIENCE_SECONDS):
        while not await driven.worker.is_cancelled(task, "works on it"):
            await asyncio.sleep(0.02)
    await driven.worker.cancelled(task)
    await ends_cancelled(driven)


@pytest.mark.parametrize("kind", ["deploy", "rollback", "provision", "deprovision"])
async def test_while_it_waits_for_an_approval(
    plane: EncryptedPlane, install: str, kind: str
) -> None:
    driven = await begun(plane, install, kind)
    await driven.go_to(KINDS[kind][:2])
    await asked(driven.run, "net")
    await driven.run.cancel()
    await ends_cancelled(driven)


@pytest.mark.parametrize("update", ["deploy", "rollback", "provision", "deprovision"])
async def test_while_it_waits_for_its_turn(
    plane: EncryptedPlane, install: str, update: str
) -> None:
    driven = await begun(plane, install, "deploy")
    request = {} if update == "deprovision" else {"release": RELEASE}
    waiting = await driven.site.run(update, request)
    await driven.site.waits_for_turn(waiting)
    await waiting.cancel()
    assert await ended(waiting) == WorkflowExecutionStatus.CANCELED
    await nothing_wedged(waiting)
    await driven.site.holder(driven.run)
    await driven.run.cancel()
    await ends_cancelled(driven)


@pytest.mark.parametrize("started", [False, True])
async def test_an_install_that_waits_for_its_worker(
    plane: EncryptedPlane, install: str, started: bool
) -> None:
    site, worker = Site(plane.client, install), plane.install_worker(install)
    entity = await site.begin()
    await until_event(entity, SCHEDULED, installs.DESCRIBE.name)
    if started:
        await worker.take()
    await entity.cancel()
    assert await ended(entity) == WorkflowExecutionStatus.CANCELED
    await nothing_wedged(entity)


async def test_who_may_pass_the_gateway(plane: EncryptedPlane) -> None:
    entity = await plane.client.start_workflow(
        "Access", {"org": "dev"}, id="access/dev", task_queue="control"
    )
    await entity.query("access", {}, reject_condition=None)
    await entity.cancel()
    assert await ended(entity) == WorkflowExecutionStatus.CANCELED
    await nothing_wedged(entity)
