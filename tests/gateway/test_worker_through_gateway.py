"""Real SDK workers through real gateways, and what somebody with their credential could try."""

import asyncio
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from grpc import StatusCode
from temporalio import activity, workflow
from temporalio.api.common.v1 import WorkflowExecution
from temporalio.api.enums.v1 import TaskQueueType
from temporalio.api.taskqueue.v1 import TaskQueue
from temporalio.api.workflowservice.v1 import (
    DescribeTaskQueueRequest,
    PollActivityTaskQueueResponse,
    RecordActivityTaskHeartbeatRequest,
    RecordActivityTaskHeartbeatResponse,
    ResetWorkflowExecutionRequest,
    RespondActivityTaskCompletedRequest,
)
from temporalio.client import (
    ActivityExecutionStatus,
    ActivityFailureError,
    ActivityHandle,
    Client,
    WorkflowFailureError,
    WorkflowHandle,
)
from temporalio.exceptions import CancelledError
from temporalio.worker import PollerBehaviorSimpleMaximum, UnsandboxedWorkflowRunner, Worker

from activities.heartbeats import cancelled_by_person
from gateway.identity import Standing
from gateway.rpc.task_tokens import TaskTokens
from tests.gateway.gateway_parts import Address, Site, build, install

pytestmark = [pytest.mark.process, pytest.mark.asyncio(loop_scope="session")]

ACME, OTHER = install("acme"), install("other")
NOT_THEIRS = (StatusCode.PERMISSION_DENIED, "the task token cannot be used: it was not given to ")


@activity.defn(name="greet")
async def greet(name: str) -> str:
    return f"hello {name}"


class Long:
    """An activity that runs until it is asked to end."""

    def __init__(self) -> None:
        self.began = asyncio.Event()
        self.end = asyncio.Event()
        self.cancelled = asyncio.Event()

    @activity.defn(name="long")
    async def run(self) -> str:
        self.began.set()
        try:
            while not self.end.is_set():
                activity.heartbeat()
                await asyncio.wait([asyncio.ensure_future(self.end.wait())], timeout=0.1)
        except asyncio.CancelledError:
            self.cancelled.set()
            raise
        return "done"


class Quiet(Long):
    """The same, but it heartbeats only once, so it learns nothing from its heartbeats."""

    @activity.defn(name="quiet")
    async def run(self) -> str:
        self.began.set()
        activity.heartbeat()
        try:
            await self.end.wait()
        except asyncio.CancelledError:
            self.cancelled.set()
            raise
        return "done"


class Asking(Quiet):
    """It never heartbeats; when it is cancelled, it asks whether a person requested that."""

    def __init__(self) -> None:
        super().__init__()
        self.by_person: asyncio.Future[bool] = asyncio.get_running_loop().create_future()

    @activity.defn(name="quiet")
    async def run(self) -> str:
        self.began.set()
        try:
            await self.end.wait()
        except asyncio.CancelledError:
            details = activity.cancellation_details()
            assert details is not None and details.cancel_requested
            self.by_person.set_result(await cancelled_by_person())
            raise
        return "done"


async def cancel(run: WorkflowHandle[Any, Any]) -> None:
    await run.cancel()


async def terminate(run: WorkflowHandle[Any, Any]) -> None:
    await run.terminate("a test")


async def reset(run: WorkflowHandle[Any, Any]) -> None:
    client = run._client
    await client.workflow_service.reset_workflow_execution(
        ResetWorkflowExecutionRequest(
            namespace="dev",
            workflow_execution=WorkflowExecution(workflow_id=run.id),
            reason="a test",
            workflow_task_finish_event_id=4,
            request_id=uuid4().hex,
        )
    )
    await terminate(client.get_workflow_handle(run.id))


async def wait_for_its_timeout(run: WorkflowHandle[Any, Any]) -> None:
    with pytest.raises(WorkflowFailureError):
        await run.result()


@workflow.defn(name="CallsQuiet")
class CallsQuiet:
    @workflow.run
    async def run(self) -> None:
        await workflow.execute_activity(
            "quiet",
            task_queue="install.acme",
            start_to_close_timeout=timedelta(seconds=60),
            heartbeat_timeout=timedelta(seconds=30),
            cancellation_type=workflow.ActivityCancellationType.WAIT_CANCELLATION_COMPLETED,
        )


@pytest.fixture
def site(site: Site) -> Site:
    site.credentials.known |= {"acme": ACME, "other": OTHER, "build": build()}
    return site


@pytest.fixture
def long() -> Long:
    return Long()


async def start(
    server: Client, name: str, *args: str, queue: str = "install.acme"
) -> ActivityHandle[str]:
    """Start a standalone activity, without a workflow."""
    return await server.start_activity(
        name,
        args=args,
        id=uuid4().hex,
        task_queue=queue,
        result_type=str,
        start_to_close_timeout=timedelta(seconds=60),
        heartbeat_timeout=timedelta(seconds=30),
    )


@asynccontextmanager
async def more_than_a_cut_poll_takes(
    server: Client,
) -> AsyncIterator[dict[str, ActivityHandle[str]]]:
    """Start two tasks; returns their ids. Temporal notices only after a moment that a poll was cut
    off, and may lose one task to it, which comes again after its timeouts."""
    tasks = [await start(server, "greet", "acme") for _ in range(2)]
    try:
        yield {task.id: task for task in tasks}
    finally:
        for task in tasks:
            if (await task.describe()).status is ActivityExecutionStatus.RUNNING:
                await task.terminate()


@asynccontextmanager
async def working(gateway: Address, long: Long, word: str = "acme") -> AsyncIterator[Worker]:
    worker = Worker(
        await gateway.connect(word),
        task_queue="install.acme",
        activities=[greet, long.run],
        activity_task_poller_behavior=PollerBehaviorSimpleMaximum(1),
        max_heartbeat_throttle_interval=timedelta(milliseconds=100),
        graceful_shutdown_timeout=timedelta(seconds=10),
    )
    async with worker:
        yield worker


async def pollers(server: Client, queue: str) -> list[str]:
    """The pollers of a queue, as Temporal names them."""
    found = await server.workflow_service.describe_task_queue(
        DescribeTaskQueueRequest(
            namespace="dev",
            task_queue=TaskQueue(name=queue),
            task_queue_type=TaskQueueType.TASK_QUEUE_TYPE_ACTIVITY,
        )
    )
    return [poller.identity for poller in found.pollers]


def completion(task: PollActivityTaskQueueResponse) -> RespondActivityTaskCompletedRequest:
    request = RespondActivityTaskCompletedRequest(task_token=task.task_token)
    request.result.payloads.add(metadata={"encoding": b"json/plain"}, data=b'"by hand"')
    return request


async def test_a_worker_works(site: Site, server: Client, long: Long) -> None:
    async with site.gateway() as gateway, working(gateway, long):
        assert await (await start(server, "greet", "acme")).result() == "hello acme"
        running = await start(server, "long")
        await long.began.wait()
        long.end.set()
        assert await running.result() == "done"
        [who] = await pollers(server, "install.acme")
        assert who.startswith("install/acme (")
        assert gateway.door.counters.denials.total() == 0


async def test_a_cancel_reaches_the_activity(site: Site, server: Client, long: Long) -> None:
    async with site.gateway() as gateway, working(gateway, long):
        running = await start(server, "long")
        await long.began.wait()
        await running.cancel()
        await long.cancelled.wait()
        with pytest.raises(ActivityFailureError) as failed:
            await running.result()
        assert isinstance(failed.value.__cause__, CancelledError)


async def test_a_command_to_cancel_names_the_activity_as_its_worker_knows_it(
    site: Site, server: Client
) -> None:
    quiet = Quiet()
    async with (
        site.gateway() as gateway,
        working(gateway, quiet),
        Worker(
            server,
            task_queue="control",
            workflows=[CallsQuiet],
            workflow_runner=UnsandboxedWorkflowRunner(),
        ),
    ):
        run = await server.start_workflow(CallsQuiet.run, id=uuid4().hex, task_queue="control")
        await quiet.began.wait()
        await run.cancel()
        await quiet.cancelled.wait()
        with pytest.raises(WorkflowFailureError) as failed:
            await run.result()
        assert isinstance(failed.value.__cause__, CancelledError)
        assert gateway.door.counters.calls["RespondNexusTaskCompleted"] == 1


@pytest.mark.parametrize(
    ("end", "by_person"),
    [(cancel, True), (terminate, False), (reset, False), (wait_for_its_timeout, False)],
)
async def test_only_a_cancel_is_a_persons_word_whatever_a_command_says(
    site: Site,
    server: Client,
    end: Callable[[WorkflowHandle[Any, Any]], Awaitable[None]],
    by_person: bool,
) -> None:
    asking = Asking()
    async with (
        site.gateway() as gateway,
        working(gateway, asking),
        Worker(
            server,
            task_queue="control",
            workflows=[CallsQuiet],
            workflow_runner=UnsandboxedWorkflowRunner(),
        ),
    ):
        timeout = timedelta(seconds=2) if end is wait_for_its_timeout else None
        run = await server.start_workflow(
            CallsQuiet.run, id=uuid4().hex, task_queue="control", execution_timeout=timeout
        )
        await asking.began.wait()
        await end(run)
        assert await asking.by_person is by_person


async def test_whatever_queue_it_names_it_gets_its_own(site: Site, server: Client) -> None:
    async with (
        site.gateway() as gateway,
        gateway.channel("acme") as acme,
        gateway.channel("build") as builder,
    ):
        running = await start(server, "greet", "acme")
        built = await start(server, "greet", "build", queue="build")
        first, second = await asyncio.gather(acme.poll("build"), builder.poll("install.acme"))
        assert (first.activity_id, second.activity_id) == (running.id, built.id)
        await acme.start("RespondActivityTaskCompleted", completion(first))
        await builder.start("RespondActivityTaskCompleted", completion(second))
        assert await running.result() == "by hand"


async def test_nobody_answers_for_another(site: Site, server: Client) -> None:
    async with (
        site.gateway() as gateway,
        gateway.channel("acme") as acme,
        gateway.channel("other") as other,
    ):
        running = await start(server, "greet", "acme")
        task = await acme.poll()
        stolen = completion(task)
        for rpc in (
            "RespondActivityTaskCompleted",
            "RespondActivityTaskFailed",
            "RespondActivityTaskCanceled",
            "RecordActivityTaskHeartbeat",
        ):
            beat = RecordActivityTaskHeartbeatRequest(task_token=task.task_token)
            status, why = await other.status(rpc, beat if rpc.startswith("Record") else stolen)
            assert (status, why) == (NOT_THEIRS[0], f"{NOT_THEIRS[1]}install/other")
        await acme.start("RespondActivityTaskCompleted", stolen)
        assert await running.result() == "by hand"


async def test_temporals_own_tokens_are_worth_nothing(site: Site, server: Client) -> None:
    running = await start(server, "greet", "acme")
    async with site.gateway() as gateway, gateway.channel("acme") as acme:
        task = await acme.poll()
        bare = completion(task)
        bare.task_token = TaskTokens(site.secrets).open(task.task_token, ACME, "activity")
        status, _ = await acme.status("RespondActivityTaskCompleted", bare)
        assert status is StatusCode.PERMISSION_DENIED
        await acme.start("RespondActivityTaskCompleted", completion(task))
    assert await running.result() == "by hand"


async def test_one_gateway_gives_a_task_and_another_takes_the_answer(
    site: Site, server: Client
) -> None:
    async with (
        site.gateway() as one,
        site.gateway() as another,
        one.channel("acme") as polling,
        another.channel("acme") as answering,
    ):
        running = await start(server, "greet", "acme")
        task = await polling.poll()
        await answering.start("RespondActivityTaskCompleted", completion(task))
        assert await running.result() == "by hand"


async def test_a_revoked_identity_loses_its_waiting_poll_at_once(
    site: Site, server: Client
) -> None:
    async with site.gateway() as gateway, gateway.channel("acme") as acme:
        poll = acme.start("PollActivityTaskQueue")
        await site.standings.watched(ACME)
        site.standings.set(ACME, Standing.REVOKED)
        assert await poll.code() is StatusCode.PERMISSION_DENIED
        assert "revoked" in (await poll.details() or "")
        # The poll at Temporal ended, too, so a new task waits for the next worker.
        async with more_than_a_cut_poll_takes(server) as tasks:
            status, _ = await acme.status("PollActivityTaskQueue")
            assert status is StatusCode.PERMISSION_DENIED
            site.standings.set(ACME, Standing.ALLOWED)
            task = await acme.poll()
            await acme.start("RespondActivityTaskCompleted", completion(task))
            assert await tasks[task.activity_id].result() == "by hand"


async def test_a_paused_install_gets_no_work_and_ends_what_it_has(
    site: Site, server: Client
) -> None:
    async with site.gateway() as gateway, gateway.channel("acme") as acme:
        running = await start(server, "greet", "acme")
        task = await acme.poll()
        waiting = asyncio.create_task(acme.poll(seconds=60))
        await site.standings.watched(ACME)
        site.standings.set(ACME, Standing.PAUSED)
        await site.standings.watched(ACME)

        async with more_than_a_cut_poll_takes(server) as tasks:
            beat = RecordActivityTaskHeartbeatRequest(task_token=task.task_token)
            answer = await acme.start("RecordActivityTaskHeartbeat", beat)
            assert not RecordActivityTaskHeartbeatResponse.FromString(answer).cancel_requested
            await acme.start("RespondActivityTaskCompleted", completion(task))
            assert await running.result() == "by hand"
            described = [await task.describe() for task in tasks.values()]
            assert None in [task.last_started_time for task in described]
            assert not waiting.done()

            site.standings.set(ACME, Standing.ALLOWED)
            task = await waiting
            await acme.start("RespondActivityTaskCompleted", completion(task))
            assert await tasks[task.activity_id].result() == "by hand"


async def test_a_gateway_that_leaves_answers_polls_and_lets_answers_through(
    site: Site, server: Client
) -> None:
    async with AsyncExitStack() as stack:
        gateway = await stack.enter_async_context(site.gateway())
        acme = await stack.enter_async_context(gateway.channel("acme"))
        waiting = asyncio.create_task(acme.poll(seconds=60))
        await site.standings.watched(ACME)
        await gateway.door.close(grace=10)
        assert not (await waiting).task_token


async def test_a_worker_goes_on_after_its_gateway_was_killed(
    site: Site, server: Client, long: Long
) -> None:
    async with AsyncExitStack() as stack:
        process, port = await gateway_process(site, 0)
        stack.callback(end, process)
        await stack.enter_async_context(working(site.at(port), long))
        running = await start(server, "long")
        await long.began.wait()
        process.kill()
        await process.wait()
        waiting = await start(server, "greet", "acme")
        again, _ = await gateway_process(site, port)
        stack.callback(end, again)
        assert await waiting.result() == "hello acme"
        long.end.set()
        assert await running.result() == "done"


async def gateway_process(site: Site, port: int) -> tuple[asyncio.subprocess.Process, int]:
    """A gateway in its own process, with the credential `acme`; returns it and its port."""
    assert site.authority is not None
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        str(Path(__file__).with_name("gateway_process.py")),
        site.temporal,
        str(port),
        str(site.authority.certificate.parent),
        "acme",
        stdout=asyncio.subprocess.PIPE,
    )
    assert process.stdout is not None
    return process, int(await process.stdout.readline())


def end(process: asyncio.subprocess.Process) -> None:
    if process.returncode is None:
        process.kill()
