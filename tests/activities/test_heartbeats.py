"""Heartbeats in the background, whose details say what the activity does."""

import asyncio
from dataclasses import replace
from datetime import timedelta
from typing import Any, cast

import pytest
from temporalio.activity import ActivityCancellationDetails
from temporalio.client import AsyncActivityCancelledError, Client
from temporalio.service import RPCError, RPCStatusCode
from temporalio.testing import ActivityEnvironment

from activities import heartbeats
from activities.heartbeats import cancelled_by_person, heartbeating


class Beats:
    """An environment that records heartbeats, with a heartbeat timeout in seconds."""

    def __init__(self, timeout: float) -> None:
        self.environment = ActivityEnvironment()
        self.environment.info = replace(
            self.environment.info, heartbeat_timeout=timedelta(seconds=timeout)
        )
        self.details: list[Any] = []
        self.beaten = asyncio.Event()
        self.environment.on_heartbeat = self._beat

    def _beat(self, *details: Any) -> None:
        self.details += details
        self.beaten.set()

    async def next(self) -> None:
        self.beaten.clear()
        async with asyncio.timeout(5):
            await self.beaten.wait()


async def test_it_beats_several_times_a_timeout_while_the_block_runs() -> None:
    beats = Beats(0.2)

    async def work() -> float:
        begun = asyncio.get_running_loop().time()
        async with heartbeating():
            for _ in range(4):
                await beats.next()
        return asyncio.get_running_loop().time() - begun

    assert await beats.environment.run(work) < 0.4
    count = len(beats.details)
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.15):
            await beats.beaten.wait() if not beats.beaten.is_set() else await asyncio.Event().wait()
    assert len(beats.details) == count, "it ends with the block"


async def test_what_is_said_goes_out_at_once_and_with_every_beat_after() -> None:
    beats = Beats(0.2)

    async def work() -> None:
        async with heartbeating() as say:
            say("plans")
            assert beats.details[-1] == "plans"
            await beats.next()
            await beats.next()

    await beats.environment.run(work)
    assert beats.details[-2:] == ["plans", "plans"]


async def test_it_ends_when_the_block_fails() -> None:
    beats = Beats(0.2)

    async def work() -> None:
        async with heartbeating():
            raise ValueError("counts")

    with pytest.raises(ValueError, match="counts"):
        await beats.environment.run(work)
    assert not [task for task in asyncio.all_tasks() if "beat" in repr(task.get_coro())]


async def test_a_cancel_of_the_activity_goes_through() -> None:
    beats = Beats(0.2)
    begun = asyncio.Event()

    async def work() -> None:
        async with heartbeating():
            begun.set()
            await asyncio.Event().wait()

    task = asyncio.ensure_future(beats.environment.run(work))
    await begun.wait()
    beats.environment.cancel()
    with pytest.raises(asyncio.CancelledError):
        async with asyncio.timeout(5):
            await task


class Server:
    """Answers heartbeats, in order, with nothing or with an error as the SDK raises it."""

    def __init__(self, *answers: Exception | None) -> None:
        self._answers = list(answers)
        self.asked: list[bytes] = []

    def get_async_activity_handle(self, *, task_token: bytes) -> "Server":
        self.asked.append(task_token)
        return self

    async def heartbeat(self, *, rpc_timeout: timedelta) -> None:
        answer = self._answers.pop(0)
        if answer is not None:
            raise answer


async def counts_as_a_persons(details: ActivityCancellationDetails, server: Server) -> bool:
    """Whether a cancel with these details counts as a person's."""
    environment = ActivityEnvironment(client=cast(Client, server))
    begun = asyncio.Event()

    async def work() -> bool:
        assert not await cancelled_by_person()
        begun.set()
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            return await cancelled_by_person()
        raise AssertionError("it waits for ever")

    task = asyncio.ensure_future(environment.run(work))
    await begun.wait()
    environment.cancel(details)
    return await task


def cancelled(**how: bool) -> AsyncActivityCancelledError:
    return AsyncActivityCancelledError(ActivityCancellationDetails(**how))


REQUESTED = cancelled(cancel_requested=True)


def refused(status: RPCStatusCode) -> RPCError:
    return RPCError("refused", status, b"")


@pytest.mark.parametrize(
    "details",
    [
        ActivityCancellationDetails(not_found=True),
        ActivityCancellationDetails(timed_out=True),
        ActivityCancellationDetails(worker_shutdown=True),
        ActivityCancellationDetails(),
    ],
)
async def test_no_other_cancel_is_a_persons(details: ActivityCancellationDetails) -> None:
    server = Server()
    assert not await counts_as_a_persons(details, server)
    assert server.asked == []


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        (REQUESTED, True),
        # Of a run that was terminated or has ended otherwise.
        (refused(RPCStatusCode.NOT_FOUND), False),
        (refused(RPCStatusCode.PERMISSION_DENIED), False),
        (cancelled(reset=True), False),
        (cancelled(paused=True), False),
        (None, False),
    ],
)
async def test_a_cancel_counts_once_the_server_says_that_it_was_asked_for(
    answer: Exception | None, expected: bool
) -> None:
    server = Server(answer)
    assert (
        await counts_as_a_persons(ActivityCancellationDetails(cancel_requested=True), server)
        is expected
    )
    assert server.asked == [ActivityEnvironment.default_info().task_token]


async def test_the_servers_word_is_waited_for_while_it_is_away(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(heartbeats, "_ASK_AGAIN_SECONDS", 0.0)
    away = [refused(RPCStatusCode.UNAVAILABLE), refused(RPCStatusCode.DEADLINE_EXCEEDED)]
    server = Server(*away, REQUESTED)
    assert await counts_as_a_persons(ActivityCancellationDetails(cancel_requested=True), server)
    assert len(server.asked) == 3
