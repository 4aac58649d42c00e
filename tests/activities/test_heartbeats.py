"""Heartbeats in the background, with what the activity does."""

import asyncio
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from temporalio.activity import ActivityCancellationDetails
from temporalio.testing import ActivityEnvironment

from activities.heartbeats import cancelled_by_person, heartbeating


class Beats:
    """An environment that notes heartbeats, with a heartbeat timeout in seconds."""

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
            raise ValueError("told")

    with pytest.raises(ValueError, match="told"):
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


@pytest.mark.parametrize(
    ("details", "expected"),
    [
        (ActivityCancellationDetails(cancel_requested=True), True),
        (ActivityCancellationDetails(not_found=True), False),
        (ActivityCancellationDetails(timed_out=True), False),
        (ActivityCancellationDetails(worker_shutdown=True), False),
        (ActivityCancellationDetails(), False),
    ],
)
async def test_only_a_persons_cancel_counts(
    details: ActivityCancellationDetails, expected: bool
) -> None:
    environment = ActivityEnvironment()
    begun = asyncio.Event()
    asked: list[bool] = []

    async def work() -> None:
        assert not cancelled_by_person()
        begun.set()
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            asked.append(cancelled_by_person())

    task = asyncio.ensure_future(environment.run(work))
    await begun.wait()
    environment.cancel(details)
    await task
    assert asked == [expected]
