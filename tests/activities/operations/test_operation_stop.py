"""`Operations.stop` ends a tool even if no attempt is waiting for it."""

import asyncio

import pytest

from contracts.errors import Cancelled, LockHeld
from store.journal import Journal
from store.machine import Machine
from tests.activities.operations.operation_site import KEY, SUBJECT, Site

KIND = "trap 'touch asked; exit 1' INT; touch up; while true; do sleep 0.05; done"


async def leave_running(site: Site, key: str = KEY) -> None:
    """Leaves a tool running, as a worker does that is killed."""

    async def attempt() -> None:
        async with site.operations().open(key, SUBJECT, site.say) as operation:
            await operation.run("apply", site.shell(KIND))

    task = asyncio.create_task(attempt())
    await site.mark("up")
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert site.tree_lives()


async def test_a_tool_that_nobody_follows_is_interrupted_and_gone(site: Site) -> None:
    await leave_running(site)
    assert await site.operations().stop(KEY, SUBJECT)
    assert not site.tree_lives()
    assert site.marked("asked"), "kindly first"
    assert site.status("1-apply").outcome == "interrupted"
    assert site.store.list("leases/") == []


async def test_nothing_is_begun_for_the_key_any_more(site: Site) -> None:
    assert not await site.operations().stop(KEY, SUBJECT)
    async with site.operations().open(KEY, SUBJECT, site.say) as operation:
        outcome = operation.outcome()
    assert outcome is not None
    assert outcome.failure is not None
    assert outcome.failure.type == "Cancelled"


async def test_an_attempt_that_is_about_to_start_a_tool_starts_none(site: Site) -> None:
    async with site.operations().open(KEY, SUBJECT, site.say) as operation:
        assert not await site.operations().stop(KEY, SUBJECT)
        with pytest.raises(Cancelled, match="Nothing was started"):
            await operation.run("apply", site.shell("touch up"))
    assert not site.marked("up")
    assert site.store.list("leases/") == []


async def test_it_may_be_asked_again(site: Site) -> None:
    await leave_running(site)
    assert [await site.operations().stop(KEY, SUBJECT) for _ in range(3)] == [True, False, False]


async def test_a_tool_of_another_run_is_left_alone(site: Site) -> None:
    await leave_running(site, "run-2/vpc/apply/0")
    assert not await site.operations().stop(KEY, SUBJECT)
    assert site.tree_lives()
    assert len(site.store.list("leases/")) == 1, "it is still held for that tool"
    assert await site.operations().stop("run-2/vpc/apply/0", SUBJECT)


async def test_a_recorded_result_stands(site: Site) -> None:
    async with site.operations().open(KEY, SUBJECT, site.say) as operation:
        await operation.record_result({"a": 1})
    assert not await site.operations().stop(KEY, SUBJECT)
    outcome = Journal(site.store).outcome(KEY)
    assert outcome is not None
    assert outcome.result == {"a": 1}


async def test_a_tool_on_another_machine_is_not_gone(site: Site) -> None:
    site.leases(Machine("there", "b")).acquire(SUBJECT, KEY)
    with pytest.raises(LockHeld, match="Machine there works on acme/vpc"):
        await site.operations().stop(KEY, SUBJECT)


async def test_a_lease_of_another_machine_for_another_run_is_none_of_ours(site: Site) -> None:
    site.leases(Machine("there", "b")).acquire(SUBJECT, "run-2/vpc/apply/0")
    assert not await site.operations().stop(KEY, SUBJECT)
    assert len(site.store.list("leases/")) == 1
