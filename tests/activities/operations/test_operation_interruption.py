"""Operations: who may interrupt a tool, who may not, and how a tool is interrupted."""

import asyncio
import os
import signal

import pytest

from activities.operations.locks import hold
from activities.operations.opening import Operations
from activities.operations.spec import LeaseTerms, ToolRun
from activities.operations.status import ToolEnd
from contracts.errors import Draining, LockHeld
from store.leases import Lease, Leases
from store.machine import Machine
from tests.activities.operations.operation_site import KEY, SUBJECT, Site, until

# A trap interrupts `wait` at once; a shell that forks in a loop may miss a signal.
KIND = "trap 'touch asked; kill $s; exit 1' INT; sleep 60 & s=$!; touch up; wait $s"
DEAF = "trap '' INT; touch up; while true; do sleep 0.05; done"
SHORT = LeaseTerms(seconds=6, renew_seconds=0.2, margin_seconds=2)


async def run_once(operations: Operations, site: Site, run: ToolRun) -> ToolEnd:
    async with operations.open(KEY, SUBJECT, site.say) as operation:
        return await operation.run("tool", run)


async def test_the_timeout_asks_first(site: Site) -> None:
    end = await run_once(site.operations(), site, site.shell(KIND, timeout=2))
    assert (end.outcome, end.exits, end.failed) == ("timed_out", {"script": 1}, "script")
    assert "within 2 s" in end.message
    assert site.marked("asked")
    assert not site.tree_lives()


async def test_then_it_terminates_the_group(site: Site) -> None:
    end = await run_once(site.operations(), site, site.shell(DEAF, timeout=0.5, grace=0.3))
    assert (end.outcome, end.exits) == ("timed_out", {"script": -signal.SIGTERM})
    assert not site.tree_lives()


async def test_then_it_kills_whatever_holds_the_tree(site: Site) -> None:
    # A process in its own session that ignores all signals, and whose parent is gone.
    deaf = (
        "trap '' INT TERM; (setsid bash -c \"trap '' TERM; touch out; exec sleep 60\" &) ; " + DEAF
    )
    run = site.shell(deaf, timeout=1, grace=0.2, terminate=0.3)
    end = await run_once(site.operations(), site, run)
    assert (end.outcome, end.exits) == ("timed_out", {"script": -signal.SIGKILL})
    assert site.marked("out")
    assert not site.tree_lives()


async def test_a_person_who_cancels_stops_the_tool_and_its_tree(site: Site) -> None:
    site.by_person = True
    task = asyncio.create_task(run_once(site.operations(), site, site.shell(KIND)))
    await site.mark("up")
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert not site.tree_lives()
    assert site.marked("asked")
    async with site.operations().open(KEY, SUBJECT, site.say) as operation:
        end = await operation.attach()
    assert end is not None
    assert end.outcome == "interrupted"


async def test_any_other_cancellation_leaves_the_tool_running(site: Site) -> None:
    script = "touch up; until [ -e stop ]; do sleep 0.05; done"
    task = asyncio.create_task(run_once(site.operations(), site, site.shell(script)))
    await site.mark("up")
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert site.tree_lives()
    async with site.operations().open(KEY, SUBJECT, site.say) as operation:
        attached = asyncio.create_task(operation.attach())
        (site.marks / "stop").touch()
        end = await attached
    assert end is not None
    assert end.succeeded()


async def test_the_operator_interrupts_every_tool_of_the_worker(site: Site) -> None:
    operations = site.operations()
    first = asyncio.create_task(run_once(operations, site, site.shell(KIND)))

    async def another() -> ToolEnd:
        async with operations.open("run-1/db/apply/0", "acme/db", site.say) as operation:
            return await operation.run("tool", site.shell(KIND.replace("up", "up2")))

    second = asyncio.create_task(another())
    await site.mark("up")
    await site.mark("up2")
    await operations.interrupt_all()
    assert not site.tree_lives()
    assert [(await first).outcome, (await second).outcome] == ["interrupted", "interrupted"]


async def test_an_interruption_that_came_before_the_start_is_kept(site: Site) -> None:
    folder = site.data / "runs" / KEY / "1-tool"
    folder.mkdir(parents=True)
    (folder / "interrupt").touch()
    end = await run_once(site.operations(), site, site.shell("touch up"))
    assert (end.outcome, end.exits) == ("interrupted", {})
    assert not site.marked("up")


async def test_a_second_request_is_no_second_signal(site: Site) -> None:
    script = (
        "n=0; trap 'n=$((n+1)); touch asked' INT; touch up; "
        "until [ -e stop ]; do sleep 0.05; done; exit $n"
    )
    task = asyncio.create_task(run_once(site.operations(), site, site.shell(script)))
    await site.mark("up")
    supervisor = site.supervisor("1-tool")
    os.kill(supervisor.pid, signal.SIGTERM)
    await site.mark("asked")
    os.kill(supervisor.pid, signal.SIGINT)
    os.kill(supervisor.pid, signal.SIGTERM)
    (site.marks / "stop").touch()
    end = await task
    assert (end.outcome, end.exits) == ("interrupted", {"script": 1})


async def test_a_lease_that_another_machine_took_ends_the_tool(site: Site) -> None:
    task = asyncio.create_task(run_once(site.operations(SHORT), site, site.shell(KIND)))
    await site.mark("up")
    await steal_lease(site)
    end = await task
    assert end.outcome == "lease_lost"
    assert "machine there" in end.message
    assert site.marked("asked")


async def test_a_lease_that_cannot_be_renewed_ends_the_tool_before_it_expires(site: Site) -> None:
    task = asyncio.create_task(run_once(site.operations(SHORT), site, site.shell(KIND)))
    await site.mark("up")
    lock, loop = site.store.root / ".lock", site.root / "loop"
    loop.symlink_to(lock)
    loop.replace(lock)
    end = await task
    assert end.outcome == "lease_lost"
    assert "cannot be renewed" in end.message


async def test_a_store_that_hangs_ends_the_tool_before_the_lease_expires(site: Site) -> None:
    task = asyncio.create_task(run_once(site.operations(SHORT), site, site.shell(KIND)))
    await site.mark("up")
    with await hold(site.store.root / ".lock"):
        await until(lambda: site.status("1-tool").outcome == "lease_lost")
    assert "the store does not answer" in (await task).message


async def test_nothing_is_started_without_the_lease(site: Site) -> None:
    async with site.operations(SHORT).open(KEY, SUBJECT, site.say) as operation:
        await steal_lease(site)
        with pytest.raises(LockHeld, match="Nothing was started"):
            await operation.run("tool", site.shell("touch up"))
    assert not site.marked("up")


async def steal_lease(site: Site) -> None:
    """As if this machine had slept until its lease expired, and another one had taken over."""
    site.store.delete(f"leases/{SUBJECT}.json")
    site.leases(Machine("there", "b")).acquire(SUBJECT, "k")


async def test_after_the_operators_second_signal_nothing_is_started(site: Site) -> None:
    operations = site.operations()
    first = asyncio.create_task(run_once(operations, site, site.shell(KIND)))

    async def waiting() -> ToolEnd:
        async with operations.open("run-2/vpc/apply/0", SUBJECT, site.say) as operation:
            return await operation.run("tool", site.shell("touch later"))

    await site.mark("up")
    second = asyncio.create_task(waiting())
    await until(lambda: bool(site.said))
    await operations.interrupt_all()
    assert (await first).outcome == "interrupted"
    with pytest.raises(Draining, match="was not started"):
        await second
    assert not site.marked("later")
    # Another worker process takes over; it knows of no tool that was started.
    async with site.operations().open("run-2/vpc/apply/0", SUBJECT, site.say) as operation:
        assert (operation.last, operation.started_elsewhere) == (None, False)
        assert (await operation.run("tool", site.shell("touch later"))).succeeded()


async def test_an_interruption_while_a_run_is_prepared_reaches_it(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    operations = site.operations()
    real = Leases.renew

    def renew(leases: Leases, subject: str) -> Lease:
        asyncio.run_coroutine_threadsafe(operations.interrupt_all(), loop).result(10)
        return real(leases, subject)

    loop = asyncio.get_running_loop()
    async with operations.open(KEY, SUBJECT, site.say) as operation:
        monkeypatch.setattr(Leases, "renew", renew)
        with pytest.raises(Draining, match="was not started"):
            await operation.run("tool", site.shell("touch up"))
        monkeypatch.undo()
    assert not site.marked("up")
    assert not (site.data / "runs" / KEY / "1-tool" / "spec.json").exists()
