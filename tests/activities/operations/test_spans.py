"""What spans contain about attempts and tools, and what they do not."""

import asyncio
import dataclasses
import importlib
import pkgutil
import re
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import pytest
from pydantic import ValidationError, create_model
from temporalio.exceptions import ApplicationError
from temporalio.testing import ActivityEnvironment
from temporalio.worker import ActivityInboundInterceptor, ExecuteActivityInput

import contracts
from activities.interceptor import ActivityInterceptor
from activities.spans import NAMED, Span, Value
from contracts.activities import Activity
from contracts.deploys import ApplyInput
from contracts.errors import EngineFailed
from contracts.installs import DESCRIBE
from contracts.messages import WorkerInput
from tests.activities.operations.operation_site import KEY, SUBJECT, Site

SECRET = "hunter2hunter2"
RELEASE = "sha256:" + "1" * 64


class RecordedSpan:
    """A span that records what it gets."""

    def __init__(self, name: str, attributes: Mapping[str, Value]) -> None:
        self.name = name
        self.attributes = dict(attributes)
        self.children: list[RecordedSpan] = []
        self.end_: tuple[str, bool] | None = None

    def child(self, name: str, attributes: Mapping[str, Value]) -> Span:
        self.children.append(RecordedSpan(name, attributes))
        return self.children[-1]

    def end(self, outcome: str, *, failed: bool, attributes: Mapping[str, Value]) -> None:
        assert self.end_ is None
        self.end_ = (outcome, failed)
        self.attributes |= attributes

    def all(self) -> str:
        return f"{self.name} {self.attributes} {self.end_} {[one.all() for one in self.children]}"


class Kept:
    """A tracer that keeps the spans."""

    def __init__(self) -> None:
        self.spans: list[RecordedSpan] = []

    async def begin(self, name: str, run_id: str, attributes: Mapping[str, Value]) -> Span | None:
        self.spans.append(RecordedSpan(f"{name} of {run_id}", attributes))
        return self.spans[-1]


class Innermost(ActivityInboundInterceptor):
    def __init__(self, does: Callable[[], Awaitable[Any]]) -> None:
        self._does = does

    async def execute_activity(self, input: ExecuteActivityInput) -> Any:
        return await self._does()


async def attempted(does: Callable[[], Awaitable[Any]], *args: Any) -> RecordedSpan:
    kept = Kept()
    inbound = ActivityInterceptor(tracer=kept).intercept_activity(Innermost(does))
    input = ExecuteActivityInput(fn=lambda: None, args=args, executor=None, headers={})
    try:
        await ActivityEnvironment().run(inbound.execute_activity, input)
    except (ApplicationError, asyncio.CancelledError):
        assert kept.spans
    [span] = kept.spans
    return span


async def succeeds() -> None:
    pass


async def test_an_attempt_is_described_by_names_and_digests_alone() -> None:
    turn = {"number": 1, "workflow_id": "deploy/acme/1"}
    given = ApplyInput.model_validate(
        {"install": "acme", "app": "shop", "release": RELEASE, "component": "vpc", "key": "k"}
        | {"turn": turn, "digest": RELEASE, "plan_key": "k", "password": SECRET}
    )
    span = await attempted(succeeds, given)
    assert span.end_ == ("ok", False)
    assert {key: span.attributes[f"exclave.{key}"] for key in ("app", "component", "release")} == {
        "app": "shop",
        "component": "vpc",
        "release": RELEASE,
    }
    assert span.attributes["exclave.attempt"] == 1
    # The gateway adds the install.
    assert "exclave.install" not in span.attributes
    assert str(span.attributes["temporalRunID"]) in span.name


async def test_what_idle_workers_are_asked_gets_no_span() -> None:
    kept = Kept()
    inbound = ActivityInterceptor(tracer=kept).intercept_activity(Innermost(succeeds))
    input = ExecuteActivityInput(fn=lambda: None, args=(), executor=None, headers={})
    asked = ActivityEnvironment()
    asked.info = dataclasses.replace(asked.info, activity_type=DESCRIBE.name)
    await asked.run(inbound.execute_activity, input)
    assert kept.spans == []


@pytest.mark.parametrize(
    "error, outcome, failed",
    [
        (EngineFailed(SECRET), "EngineFailed", True),
        (ValueError(SECRET), "Bug", True),
        (OSError(2, SECRET, SECRET), "Unreachable", True),
        (asyncio.CancelledError(SECRET), "cancelled", False),
    ],
)
async def test_an_error_is_described_by_its_type(
    error: BaseException, outcome: str, failed: bool
) -> None:
    async def fails() -> None:
        raise error

    span = await attempted(fails, WorkerInput())
    assert span.end_ == (outcome, failed)
    assert SECRET not in span.all()


@pytest.mark.parametrize(
    "script, end, attributes",
    [
        (f"echo {SECRET}", ("ok", False), {"exclave.tool.exit_code": 0}),
        (f"echo {SECRET}; exit 3", ("failed", True), {"exclave.tool.exit_code": 3}),
        (f"echo {SECRET}; kill -9 $$", ("signalled", True), {"exclave.tool.signal": 9}),
    ],
)
async def test_a_tool_is_described_by_its_label_and_its_end(
    site: Site, script: str, end: tuple[str, bool], attributes: dict[str, Value]
) -> None:
    async def runs() -> None:
        async with site.operations().open(KEY, SUBJECT, site.say) as operation:
            await operation.run("apply", site.shell(script))

    async def attaches() -> None:
        async with site.operations().open(KEY, SUBJECT, site.say) as operation:
            await operation.attach()

    for does, attached in ((runs, False), (attaches, True)):
        span = await attempted(does, WorkerInput())
        [tool] = span.children
        assert (tool.name, tool.end_) == ("apply", end)
        assert tool.attributes == {"exclave.tool.attached": attached, **attributes}
        assert SECRET not in span.all()


async def test_a_tool_that_is_not_started_is_described_by_the_error(site: Site) -> None:
    async def runs() -> None:
        async with site.operations().open(KEY, SUBJECT, site.say) as operation:
            run = site.shell("true")
            await operation.record_failure("EngineFailed", SECRET)
            operation._outcome = None  # as if another attempt had recorded it
            await operation.run("apply", run)

    span = await attempted(runs, WorkerInput())
    assert span.end_ == ("Cancelled", True)
    assert [one.end_ for one in span.children] == [("Cancelled", True)]
    assert SECRET not in span.all()


def inputs() -> list[type[Any]]:
    """The input types of all activities."""
    modules = [
        importlib.import_module(f"contracts.{one.name}")
        for one in pkgutil.iter_modules(contracts.__path__)
    ]
    found = {
        one.input
        for module in modules
        for one in vars(module).values()
        if isinstance(one, Activity)
    }
    return sorted(found, key=lambda one: str(one.__name__))


def test_what_a_span_has_of_an_input_can_hold_no_text() -> None:
    looked_at = 0
    for input in inputs():
        for name in set(NAMED) & set(input.model_fields):
            field = input.model_fields[name]
            holder = create_model("Holder", told=(field.annotation, field))
            looked_at += 1
            if name == "subject":
                # The control side makes it from the names of an install and a part.
                continue
            with pytest.raises(ValidationError, match="told"):
                holder.model_validate({"told": "a password, or so"})
    assert looked_at > 10
    assert re.search("ApplyInput.*StepInput", " ".join(one.__name__ for one in inputs()))
