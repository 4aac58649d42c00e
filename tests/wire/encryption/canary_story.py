"""A story with a secret in every kind of payload, and a search for those secrets afterwards."""

import asyncio
import base64
import json
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path

from temporalio import activity, workflow
from temporalio.client import (
    ActivityFailureError,
    Client,
    Schedule,
    ScheduleActionStartWorkflow,
    ScheduleSpec,
    WorkflowFailureError,
    WorkflowUpdateFailedError,
)
from temporalio.common import RetryPolicy
from temporalio.exceptions import ActivityError, ApplicationError, ChildWorkflowError
from temporalio.worker import UnsandboxedWorkflowRunner, Worker

from contracts.messages import Command, Message, WorkerInput
from wire.encryption.unreadable import Readable

CONTROL = "control"
QUEUE = "install.acme"
_LONG = timedelta(minutes=1)
"""For a workflow task: a busy machine must not turn the task that is to fail into one that timed
out, which leaves no failure to search for."""
SOON = timedelta(seconds=30)
ONCE = RetryPolicy(maximum_attempts=1)
PREFIX = "canary-"


class Step(Command):
    text: str
    then: str = ""


class Work(WorkerInput):
    text: str


class Done(Message):
    text: str


@dataclass
class Secrets:
    """Every secret that was made, by the kind of payload that it was in."""

    made: dict[str, str] = field(default_factory=dict)

    def __call__(self, through: str) -> str:
        return self.made.setdefault(through, f"{PREFIX}{through}-{len(self.made):04d}")


SECRET = Secrets()
"""Shared by both sides, which are one process here."""
_failed_tasks: set[str] = set()


def forget() -> None:
    """Reset, before the story runs again."""
    SECRET.made.clear()
    _failed_tasks.clear()


@activity.defn(name="answer")
async def answer(input: Work) -> Done:
    return Done(text=SECRET("activity-result") if input.text else "")


@activity.defn(name="local")
async def local(input: Work) -> Done:
    return Done(text=SECRET("local-result") if input.text else "")


@activity.defn(name="beat")
async def beat(input: Work) -> Done:
    info = activity.info()
    if info.attempt == 1:
        activity.heartbeat(SECRET("heartbeat"))
        raise ApplicationError(SECRET("retried-failure"))
    assert list(info.heartbeat_details) == [SECRET("heartbeat")]
    return Done(text=input.text)


@activity.defn(name="break")
async def break_(input: Work) -> Done:
    try:
        raise KeyError(SECRET("cause-of-failure"))
    except KeyError as error:
        raise ApplicationError(
            SECRET("failure"), SECRET("details"), type="Broken", non_retryable=True
        ) from error


@activity.defn(name="time_out")
async def time_out(input: Work) -> Done:
    activity.heartbeat(SECRET("last-heartbeat"))
    await asyncio.sleep(60)
    return Done(text="")


@workflow.defn(name="Child")
class Child:
    def __init__(self) -> None:
        self._heard = ""

    @workflow.run
    async def run(self, input: Step) -> Done:
        await workflow.wait_condition(lambda: self._heard != "")
        if input.then == "fail":
            raise ApplicationError(SECRET("child-failure"), SECRET("child-details"))
        return Done(text=SECRET("child-result"))

    @workflow.signal
    def hear(self, step: Step) -> None:
        assert step.text == SECRET("external-signal")
        self._heard = step.text


@workflow.defn(name="Parent")
class Parent:
    def __init__(self) -> None:
        self._heard: list[str] = []

    @workflow.run
    async def run(self, input: Step) -> Done:
        if input.then == "end":
            assert input.text == SECRET("continued")
            assert workflow.memo_value("noted") == SECRET("carried-memo")
            return Done(text=SECRET("result"))
        if input.then == "fail":
            raise ApplicationError(SECRET("workflow-failure"), SECRET("workflow-details"))
        assert input.text == SECRET("input")
        if workflow.info().workflow_id not in _failed_tasks:
            _failed_tasks.add(workflow.info().workflow_id)
            raise ValueError(SECRET("task-failure"))
        workflow.set_current_details(SECRET("current-details"))
        workflow.upsert_memo({"noted": SECRET("upserted-memo")})
        await self._on_the_worker()
        done = await workflow.execute_local_activity(
            local, Work(text=SECRET("local-input")), start_to_close_timeout=SOON
        )
        assert done.text == SECRET("local-result")
        await self._children()
        await workflow.wait_condition(lambda: len(self._heard) == 2)
        workflow.continue_as_new(
            Step(text=SECRET("continued"), then="end"),
            memo={"noted": SECRET("carried-memo")},
        )

    async def _on_the_worker(self) -> None:
        done = await workflow.execute_activity(
            answer, Work(text=SECRET("activity-input")), task_queue=QUEUE,
            start_to_close_timeout=SOON, summary=SECRET("activity-summary"),
        )  # fmt: skip
        assert done.text == SECRET("activity-result")
        done = await workflow.execute_activity(
            beat, Work(text="again"), task_queue=QUEUE, start_to_close_timeout=SOON,
            retry_policy=RetryPolicy(initial_interval=timedelta(milliseconds=1)),
        )  # fmt: skip
        assert done.text == "again"
        try:
            await workflow.execute_activity(
                break_, Work(text="break"), task_queue=QUEUE, start_to_close_timeout=SOON
            )
        except ActivityError as error:
            assert isinstance(error.cause, ApplicationError)
            assert error.cause.type == "Broken"
            assert error.cause.message == SECRET("failure")
            assert list(error.cause.details) == [SECRET("details")]
            assert error.cause.cause is not None
            assert SECRET("cause-of-failure") in str(error.cause.cause)
        with suppress(ActivityError):
            await workflow.execute_activity(
                time_out, Work(text="late"), task_queue=QUEUE, retry_policy=ONCE,
                start_to_close_timeout=timedelta(seconds=1),
            )  # fmt: skip

    async def _children(self) -> None:
        for then in ("", "fail"):
            child = await workflow.start_child_workflow(
                Child.run, Step(text=SECRET("child-input"), then=then), id=f"action/acme/{then}",
                static_summary=SECRET("child-summary"), memo={"of": SECRET("child-memo")},
            )  # fmt: skip
            await child.signal(Child.hear, Step(text=SECRET("external-signal")))
            try:
                assert (await child).text == SECRET("child-result")
            except ChildWorkflowError as error:
                assert isinstance(error.cause, ApplicationError)
                assert error.cause.message == SECRET("child-failure")

    @workflow.signal
    def hear(self, step: Step) -> None:
        assert step.text == SECRET("signal")
        self._heard.append(step.text)

    @workflow.update
    def change(self, step: Step) -> Done:
        if step.then == "fail":
            raise ApplicationError(SECRET("update-failure"))
        self._heard.append(step.text)
        return Done(text=SECRET("update-result"))

    @change.validator
    def check_change(self, step: Step) -> None:
        assert step.text == SECRET("update-input")
        if step.then == "refuse":
            raise ApplicationError(SECRET("update-refusal"))

    @workflow.query
    def ask(self, step: Step) -> Done:
        assert step.text == SECRET("query-input")
        if step.then == "fail":
            raise ApplicationError(SECRET("query-failure"))
        return Done(text=SECRET("query-result"))


def control_worker(client: Client) -> Worker:
    return Worker(
        client, task_queue=CONTROL, workflows=[Parent, Child], activities=[local],
        workflow_runner=UnsandboxedWorkflowRunner(), interceptors=[Readable()],
    )  # fmt: skip


def install_worker(client: Client) -> Worker:
    return Worker(
        client, task_queue=QUEUE, activities=[answer, beat, break_, time_out],
        interceptors=[Readable()], max_heartbeat_throttle_interval=timedelta(milliseconds=10),
    )  # fmt: skip


async def tell_story(client: Client) -> None:
    """Everything that a person, a workflow and a worker can send, with a secret in each."""
    run = await client.start_workflow(
        Parent.run, Step(text=SECRET("input")), id="deploy/acme/1", task_queue=CONTROL,
        memo={"said": SECRET("memo")}, static_summary=SECRET("summary"),
        static_details=SECRET("static-details"),
        task_timeout=_LONG,
    )  # fmt: skip
    await _updates_and_queries(client)
    await run.signal(Parent.hear, Step(text=SECRET("signal")))
    assert (await run.result()).text == SECRET("result")
    described = await client.get_workflow_handle("deploy/acme/1").describe()
    assert (await described.memo())["noted"] == SECRET("carried-memo")
    failing = await client.start_workflow(
        Parent.run, Step(text="", then="fail"), id="deploy/acme/2", task_queue=CONTROL
    )
    try:
        await failing.result()
        raise AssertionError("it was to fail")
    except WorkflowFailureError as error:
        assert isinstance(error.cause, ApplicationError)
        assert error.cause.message == SECRET("workflow-failure")
        assert list(error.cause.details) == [SECRET("workflow-details")]
    await _scheduled(client)
    await _alone(client)


async def _updates_and_queries(client: Client) -> None:
    run = client.get_workflow_handle_for(Parent.run, "deploy/acme/1")
    for then, said in (("refuse", "update-refusal"), ("fail", "update-failure")):
        try:
            await run.execute_update(Parent.change, Step(text=SECRET("update-input"), then=then))
            raise AssertionError("it was to be refused")
        except WorkflowUpdateFailedError as error:
            assert isinstance(error.cause, ApplicationError)
            assert error.cause.message == SECRET(said)
    changed = await run.execute_update(Parent.change, Step(text=SECRET("update-input")))
    assert changed.text == SECRET("update-result")
    answer = await run.query(Parent.ask, Step(text=SECRET("query-input")))
    assert answer.text == SECRET("query-result")


async def _scheduled(client: Client) -> None:
    schedule = await client.create_schedule(
        "nightly",
        Schedule(
            action=ScheduleActionStartWorkflow(
                Child.run, Step(text=SECRET("schedule-input")), id="action/acme/nightly",
                task_queue=CONTROL, memo={"by": SECRET("schedule-memo")},
                static_summary=SECRET("schedule-summary"),
            ),
            spec=ScheduleSpec(),
        ),
    )  # fmt: skip
    await schedule.trigger()
    while not (actions := (await schedule.describe()).info.recent_actions):
        await asyncio.sleep(0.05)
    begun = actions[0].action
    run = client.get_workflow_handle_for(Child.run, getattr(begun, "workflow_id"))  # noqa: B009
    assert run.id.startswith("action/acme/nightly-")
    await run.signal(Child.hear, Step(text=SECRET("external-signal")))
    assert (await run.result()).text == SECRET("child-result")


async def _alone(client: Client) -> None:
    done = await client.execute_activity(
        answer, Work(text=SECRET("alone-input")), id="alone", task_queue=QUEUE,
        start_to_close_timeout=SOON,
    )  # fmt: skip
    assert done.text == SECRET("activity-result")
    try:
        await client.execute_activity(
            break_, Work(text="break"), id="alone-broken", task_queue=QUEUE,
            start_to_close_timeout=SOON,
        )  # fmt: skip
        raise AssertionError("it was to fail")
    except ActivityFailureError as error:
        assert isinstance(error.cause, ApplicationError)
        assert error.cause.message == SECRET("failure")


def forms(secret: str) -> Iterator[bytes]:
    """The forms that a secret may have in a file."""
    data = secret.encode()
    yield data
    yield data[::-1]
    yield data.hex().encode()
    yield secret.encode("utf-16-le")
    yield secret.encode("utf-16-be")
    yield "".join(f"\\u{ord(letter):04x}" for letter in secret).encode()
    yield json.dumps(secret).encode()[1:-1]
    for shift in range(3):
        # At any offset: the base64 letters that depend on neighbouring bytes are cut off.
        coded = base64.b64encode(b"\0" * shift + data)
        yield coded[4 if shift else 0 : len(coded) - 4]


def found_in(folder: Path) -> dict[str, set[str]]:
    """Which of the secrets are found, in which files."""
    found: dict[str, set[str]] = {}
    for path in folder.rglob("*"):
        if path.is_file():
            content = path.read_bytes()
            for through, secret in SECRET.made.items():
                if any(form in content for form in forms(secret)):
                    found.setdefault(through, set()).add(path.name)
    return found
