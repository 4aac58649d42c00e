"""Operations: what a later attempt finds when a worker, a supervisor or a tool was killed."""

import asyncio
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from activities.operations.spec import LeaseTerms
from activities.operations.status import ToolEnd
from store.journal import Journal
from store.machine import Machine
from tests.activities.operations.operation_site import KEY, SUBJECT, Site, until

ROOT = Path(__file__).resolve().parents[3]
WAITING = "touch up; until [ -e stop ]; do sleep 0.05; done; touch done"
KIND = "trap 'touch asked; exit 1' INT; touch up; while true; do sleep 0.05; done"


def start(site: Site, script: str) -> subprocess.Popen[bytes]:
    starter = Path(__file__).with_name("operation_starter.py")
    command = [sys.executable, str(starter), str(site.root), KEY, SUBJECT, script]
    return subprocess.Popen(command, env={**os.environ, "PYTHONPATH": str(ROOT)})


async def start_and_kill(site: Site, script: str) -> None:
    """A worker starts the script and is killed as soon as the script runs."""
    worker = start(site, script)
    await site.mark("up")
    await site.tool("1-tool")
    worker.kill()
    await asyncio.to_thread(worker.wait)


async def kill_supervisor(site: Site) -> None:
    supervisor = site.supervisor("1-tool")
    os.kill(supervisor.pid, signal.SIGKILL)
    await site.gone(supervisor)


async def attach(site: Site) -> ToolEnd | None:
    async with site.operations().open(KEY, SUBJECT, site.say) as operation:
        return await operation.attach()


async def test_the_next_attempt_attaches_to_the_tool_of_a_killed_worker(site: Site) -> None:
    await start_and_kill(site, WAITING)
    assert site.tree_lives()
    attached = asyncio.create_task(attach(site))
    await asyncio.sleep(0.1)
    assert not attached.done()
    (site.marks / "stop").touch()
    end = await attached
    assert end is not None
    assert (end.succeeded(), end.label) == (True, "tool")
    assert site.marked("done")


async def test_the_end_of_a_tool_is_found_after_it(site: Site) -> None:
    await start_and_kill(site, WAITING)
    (site.marks / "stop").touch()
    await until(lambda: site.status("1-tool").outcome is not None)
    end = await attach(site)
    assert end is not None
    assert end.succeeded()


async def test_a_tool_whose_supervisor_was_killed_is_lost_only_when_all_is_gone(site: Site) -> None:
    await start_and_kill(site, f"({WAITING}) & exec sleep 60")
    tool = await site.tool("1-tool")
    await kill_supervisor(site)
    attached = asyncio.create_task(attach(site))
    os.kill(tool.pid, signal.SIGKILL)
    await site.gone(tool)
    assert site.tree_lives()
    await asyncio.sleep(0.1)
    assert not attached.done()
    (site.marks / "stop").touch()
    end = await attached
    assert end is not None
    assert (end.outcome, end.exits, end.failed) == ("lost", {}, "script")
    assert not site.tree_lives()


async def test_a_person_can_cancel_a_tool_whose_supervisor_was_killed(site: Site) -> None:
    await start_and_kill(site, KIND)
    await kill_supervisor(site)
    site.by_person = True
    attached = asyncio.create_task(attach(site))
    await asyncio.sleep(0.2)
    attached.cancel()
    with pytest.raises(asyncio.CancelledError):
        await attached
    assert not site.tree_lives()
    assert site.marked("asked")
    end = await attach(site)
    assert end is not None
    assert (end.outcome, end.failed) == ("interrupted", "script")


async def test_the_deadline_holds_without_the_supervisor(site: Site) -> None:
    operations = site.operations()

    async def run() -> ToolEnd:
        async with operations.open(KEY, SUBJECT, site.say) as operation:
            return await operation.run("tool", site.shell(KIND, timeout=2))

    task = asyncio.create_task(run())
    await site.mark("up")
    await site.tool("1-tool")
    await kill_supervisor(site)
    end = await task
    assert end.outcome == "timed_out"
    assert "supervisor had been killed" in end.message
    assert not site.tree_lives()


async def test_the_lease_is_kept_and_its_loss_noticed_without_the_supervisor(site: Site) -> None:
    terms = LeaseTerms(seconds=1.5, renew_seconds=0.2, margin_seconds=0.5)

    async def run() -> ToolEnd:
        async with site.operations(terms).open(KEY, SUBJECT, site.say) as operation:
            return await operation.run("tool", site.shell(KIND))

    task = asyncio.create_task(run())
    await site.mark("up")
    await site.tool("1-tool")
    await kill_supervisor(site)
    there = site.leases(Machine("there", "b"), 1.5)
    await asyncio.sleep(2)
    assert not there.is_own(there.acquire(SUBJECT, "k"))
    site.store.delete(f"leases/{SUBJECT}.json")
    assert (await task).outcome == "lease_lost"


async def test_another_key_waits_for_the_tool_of_a_killed_worker(site: Site) -> None:
    await start_and_kill(site, WAITING)

    async def other() -> bool:
        async with site.operations().open("run-2/vpc/plan/0", SUBJECT, site.say) as operation:
            assert operation.last is None
            return site.marked("done")

    waiting = asyncio.create_task(other())
    await until(lambda: bool(site.said))
    assert site.said == [f"waits for tool of {KEY}, whose tool still runs"]
    (site.marks / "stop").touch()
    assert await waiting


async def test_a_person_can_cancel_an_attempt_that_still_waits_for_the_lease(site: Site) -> None:
    await start_and_kill(site, KIND)
    await kill_supervisor(site)
    site.store.delete(f"leases/{SUBJECT}.json")
    site.leases(Machine("there", "b")).acquire(SUBJECT, "k")
    site.by_person = True
    waiting = asyncio.create_task(attach(site))
    await until(lambda: bool(site.said))
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    assert not site.tree_lives()


async def test_a_run_of_another_machine_or_without_its_folder_was_started_elsewhere(
    site: Site,
) -> None:
    journal = Journal(site.store)
    journal.begin_run("elsewhere", "tool", Machine("there", "b"))
    async with site.operations().open("elsewhere", SUBJECT, site.say) as operation:
        assert operation.started_elsewhere
        assert operation.last is None
        assert await operation.attach() is None
        # A new run on this machine gets the next number.
        assert (await operation.run("tool", site.shell("true"))).folder.name == "2-tool"
    journal.begin_run("gone", "tool", site.machine)
    async with site.operations().open("gone", SUBJECT, site.say) as operation:
        assert operation.started_elsewhere
    async with site.operations().open("here", SUBJECT, site.say) as operation:
        await operation.run("tool", site.shell("true"))
    async with site.operations().open("here", SUBJECT, site.say) as operation:
        assert not operation.started_elsewhere
