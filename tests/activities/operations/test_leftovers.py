"""What a tool left in the background: how the tool ended does not depend on it, and it is ended."""

import asyncio
import contextlib
import os
import signal
import sys

import pytest

from activities.operations.operation import ToolEnd
from activities.operations.processes import Process, identify, is_alive
from activities.operations.spec import OUTPUT_FILE, Command, ToolRun
from tests.activities.operations.operation_site import KEY, SUBJECT, Site, until

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="a lock's holders are asked there")

NOTED = "echo $! > left"
FORKED = "sh -c 'echo $$ > left.new; mv left.new left; exec sleep 3600'"
CLOSED = 'for fd in /proc/self/fd/*; do fd=${fd##*/}; [ $fd -gt 2 ] && eval "exec $fd>&-"; done'
BACKGROUND = {
    "in the background": f"sleep 3600 & {NOTED}",
    "holding its output": f"nohup sleep 3600 & {NOTED}",
    "in a session of its own": f"setsid sleep 3600 & {NOTED}",
    "forked twice": f"(setsid {FORKED} > /dev/null 2>&1 &)",
    "holding no lock": f"({CLOSED}; exec sleep 3600) > /dev/null 2>&1 & {NOTED}",
    "deaf": f"(trap '' TERM INT HUP; exec sleep 3600) & {NOTED}",
}


def shell(site: Site, script: str, *, keeps_exit: bool = False, timeout: float = 60) -> ToolRun:
    return ToolRun(
        [Command("script", ["/bin/bash", "-c", script], keeps_exit=keeps_exit)],
        site.marks,
        {"PATH": os.environ["PATH"]},
        timeout_seconds=timeout,
        grace_seconds=1,
        terminate_seconds=0.5,
    )


async def left_by(site: Site) -> Process:
    await until(lambda: site.marked("left") and (site.marks / "left").read_text().strip() != "")
    return identify(int((site.marks / "left").read_text()))


async def run(site: Site, run: ToolRun) -> ToolEnd:
    async with site.operations().open(KEY, SUBJECT, site.say) as operation:
        return await operation.run("tool", run)


@pytest.mark.parametrize("exit", [0, 3])
@pytest.mark.parametrize("background", BACKGROUND)
async def test_the_tools_own_exit_decides(site: Site, background: str, exit: int) -> None:
    script = f"{BACKGROUND[background]}; until [ -s left ]; do sleep 0.02; done; exit {exit}"
    running = asyncio.create_task(run(site, shell(site, script, timeout=3)))
    left = await left_by(site)
    end = await running
    assert (end.outcome, end.exits) == ("exited", {"script": exit})
    assert end.succeeded() == (exit == 0)
    assert not is_alive(left)
    assert not site.tree_lives()
    said = (end.folder / OUTPUT_FILE).read_text()
    assert f"-- left running in the background, and ended now: sleep (pid {left.pid})\n" in said


async def test_what_ends_by_itself_soon_is_not_named(site: Site) -> None:
    end = await run(site, shell(site, "(sleep 0.5; touch done) & exit 0"))
    assert end.succeeded()
    assert site.marked("done")
    assert (end.folder / OUTPUT_FILE).read_text() == ""


async def test_arguments_are_not_told(site: Site) -> None:
    end = await run(site, shell(site, "sh -c 'sleep 3600; : hunter2' & exit 0"))
    said = (end.folder / OUTPUT_FILE).read_text()
    assert "ended now: " in said
    assert "hunter2" not in said


@pytest.mark.parametrize("keeps_exit", [False, True])
async def test_it_is_so_without_the_supervisor(site: Site, keeps_exit: bool) -> None:
    """An exit that the shell kept decides. Of one that nobody saw nothing is known, and that is no
    timeout."""
    script = f"sleep 3600 & {NOTED}; until [ -e stop ]; do sleep 0.02; done; exit 0"
    running = asyncio.create_task(run(site, shell(site, script, keeps_exit=keeps_exit)))
    left = await left_by(site)
    await site.tool("1-tool")
    supervisor = site.supervisor("1-tool")
    os.kill(supervisor.pid, signal.SIGKILL)
    await site.gone(supervisor)
    (site.marks / "stop").touch()
    end = await running
    assert end.outcome == ("exited" if keeps_exit else "lost")
    assert end.succeeded() == keeps_exit
    assert not is_alive(left)
    assert f"sleep (pid {left.pid})" in (end.folder / OUTPUT_FILE).read_text()


async def test_the_worker_may_leave_meanwhile(site: Site) -> None:
    script = f"sleep 3600 & {NOTED}; exit 0"
    running = asyncio.create_task(run(site, shell(site, script)))
    await until(lambda: site.marked("left") and site.status("1-tool").commands[0].exit == 0)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    async with site.operations().open(KEY, SUBJECT, site.say) as operation:
        end = await operation.attach()
    assert end is not None
    assert end.succeeded()
    assert not site.tree_lives()


@pytest.mark.parametrize("without_supervisor", [False, True])
async def test_a_person_who_cancels_then_ends_what_was_left(
    site: Site, without_supervisor: bool
) -> None:
    script = f"sleep 3600 & {NOTED}; until [ -e stop ]; do sleep 0.02; done; exit 0"
    running = asyncio.create_task(run(site, shell(site, script, keeps_exit=True)))
    left = await left_by(site)
    await site.tool("1-tool")
    if without_supervisor:
        os.kill(site.supervisor("1-tool").pid, signal.SIGKILL)
        await site.gone(site.supervisor("1-tool"))
    (site.marks / "stop").touch()
    await until((site.data / "runs" / KEY / "1-tool" / "exit.script").exists)
    tool = await site.tool("1-tool")
    await site.gone(tool)
    site.by_person = True
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert not is_alive(left)
    async with site.operations().open(KEY, SUBJECT, site.say) as operation:
        end = await operation.attach()
    assert end is not None
    assert (end.outcome, end.succeeded()) == ("exited", True)


async def test_a_service_of_its_own_is_left_alone(site: Site) -> None:
    """What is in no session of the tool's, and holds nothing, was meant to stay."""
    script = f"(setsid bash -c '{CLOSED}; echo $$ > left; exec sleep 3600' > /dev/null 2>&1 &)"
    end = await run(site, shell(site, f"{script}; until [ -s left ]; do sleep 0.02; done"))
    left = await left_by(site)
    try:
        assert end.succeeded()
        assert is_alive(left)
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.kill(left.pid, signal.SIGKILL)
