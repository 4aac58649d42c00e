"""Operations: one at a time on a subject, and once per key."""

import asyncio

import pytest

from activities.operations.opening import Operations
from activities.operations.spec import LeaseTerms
from contracts.errors import Unreachable
from store.journal import Failure, Outcome
from store.machine import Machine
from store.opening import folder_description
from tests.activities.operations.operation_site import KEY, SUBJECT, Site, until


async def test_two_operations_on_one_subject_take_turns(site: Site) -> None:
    operations, order = site.operations(), list[str]()
    inside = asyncio.Event()
    leave = asyncio.Event()

    async def first() -> None:
        async with operations.open("k/1", SUBJECT, site.say):
            inside.set()
            await leave.wait()
            order.append("first")

    async def second() -> None:
        async with operations.open("k/2", SUBJECT, site.say):
            order.append("second")

    tasks = [asyncio.create_task(first())]
    await inside.wait()
    tasks.append(asyncio.create_task(second()))
    await until(lambda: bool(site.said))
    async with operations.open("k/3", "acme/other", site.say):
        order.append("another subject")
    leave.set()
    await asyncio.gather(*tasks)
    assert order == ["another subject", "first", "second"]
    assert site.said == [f"waits for another attempt or run that works on {SUBJECT}"]


async def test_an_attempt_that_is_cancelled_while_it_waits_takes_nothing(site: Site) -> None:
    operations = site.operations()
    async with operations.open("k/1", SUBJECT, site.say):
        waiting = asyncio.create_task(operations.open("k/2", SUBJECT, site.say).__aenter__())
        await until(lambda: bool(site.said))
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
    async with asyncio.timeout(20), operations.open("k/3", SUBJECT, site.say):
        pass


async def test_the_lease_of_another_machine_is_waited_for(site: Site) -> None:
    there = site.leases(Machine("there", "b"), seconds=1.5)
    held = there.acquire(SUBJECT, "their/key")
    async with asyncio.timeout(20), site.operations().open(KEY, SUBJECT, site.say):
        assert there.acquire(SUBJECT, "x").machine == site.machine.id
    assert f"waits for machine there, which works on {SUBJECT} for their/key, until" in site.said[0]
    assert held.machine == "there"


async def test_the_lease_is_kept_while_the_operation_is_open_and_given_back(site: Site) -> None:
    terms = LeaseTerms(seconds=1.5, renew_seconds=0.2, margin_seconds=0.5)
    there = site.leases(Machine("there", "b"))
    async with site.operations(terms).open(KEY, SUBJECT, site.say):
        await asyncio.sleep(2)
        assert not there.is_own(there.acquire(SUBJECT, "k"))
    assert there.is_own(there.acquire(SUBJECT, "k"))


async def test_the_lease_stays_while_the_tool_that_is_left_runs(site: Site) -> None:
    script = "touch up; until [ -e stop ]; do sleep 0.05; done"

    async def run() -> None:
        async with site.operations().open(KEY, SUBJECT, site.say) as operation:
            await operation.run("tool", site.shell(script))

    task = asyncio.create_task(run())
    await site.mark("up")
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    there = site.leases(Machine("there", "b"))
    assert not there.is_own(there.acquire(SUBJECT, "k"))
    (site.marks / "stop").touch()
    async with site.operations().open(KEY, SUBJECT, site.say) as operation:
        await operation.attach()
    assert there.is_own(there.acquire(SUBJECT, "k"))


async def test_an_outcome_is_recorded_once_and_given_at_once(site: Site) -> None:
    operations = site.operations()
    async with operations.open(KEY, SUBJECT, site.say) as operation:
        assert operation.outcome() is None
        first = await operation.record_failure("EngineFailed", "no such region")
        assert first == Outcome(failure=Failure("EngineFailed", "no such region"))
        assert await operation.record_result({"a": 1}) == first
    # The subject is busy, but an operation that is done does not wait for it.
    async with (
        operations.open("another", SUBJECT, site.say),
        operations.open(KEY, SUBJECT, site.say) as operation,
    ):
        assert operation.outcome() == first
        with pytest.raises(ValueError, match="done"):
            await operation.run("tool", site.shell("true"))
    assert site.said == []


async def test_a_store_that_does_not_answer_can_be_tried_again(site: Site) -> None:
    site.store.root.write_text("no folder")
    with pytest.raises(Unreachable, match="the store in"):
        async with site.operations().open(KEY, SUBJECT, site.say):
            pass


async def test_the_worker_learns_what_is_waited_for_too(site: Site) -> None:
    waits = list[str]()
    operations = Operations(
        site.store, folder_description(site.store.root), site.data, site.machine, waits.append
    )
    site.leases(Machine("there", "b"), seconds=0.3).acquire(SUBJECT, "k")
    async with operations.open(KEY, SUBJECT, site.say):
        assert waits == [f"{SUBJECT}: {site.said[0]}"]
