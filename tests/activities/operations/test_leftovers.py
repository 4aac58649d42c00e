"""Processes that a tool left in the background are ended, and do not affect how the tool ended."""

import asyncio
import os
import shutil
import signal
import sys
from pathlib import Path

import pytest

from activities.operations.processes import Process, children, identify, is_alive
from activities.operations.spec import OUTPUT_FILE, Command, ToolRun
from activities.operations.status import ToolEnd
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

DAEMON = """
import os, time
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        os.closerange(0, 1024)
        with open("left.new", "w") as file:
            file.write(str(os.getpid()))
        os.rename("left.new", "left")
        time.sleep(3600)
    os._exit(0)
"""
DEAF = """
import signal

def refuse(*_):
    raise PermissionError

signal.pidfd_send_signal = refuse
"""


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


async def test_arguments_are_not_logged(site: Site) -> None:
    end = await run(site, shell(site, "sh -c 'sleep 3600; : hunter2' & exit 0"))
    said = (end.folder / OUTPUT_FILE).read_text()
    assert "ended now: " in said
    assert "hunter2" not in said


@pytest.mark.parametrize("keeps_exit", [False, True])
async def test_it_is_so_without_the_supervisor(site: Site, keeps_exit: bool) -> None:
    """The exit that the shell recorded decides. Without one the run counts as lost, not as timed
    out."""
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
    await site.gone(left)
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
    await site.gone(left)
    async with site.operations().open(KEY, SUBJECT, site.say) as operation:
        end = await operation.attach()
    assert end is not None
    assert (end.outcome, end.succeeded()) == ("exited", True)


@pytest.mark.parametrize("exit", [0, 3])
async def test_a_daemon_is_ended_and_named(site: Site, exit: int) -> None:
    """The daemon has its own session, is adopted, and holds no inherited descriptor."""
    (site.marks / "daemon.py").write_text(DAEMON)
    script = f"{sys.executable} daemon.py && until [ -s left ]; do sleep 0.02; done; exit {exit}"
    end = await run(site, shell(site, script))
    left = await left_by(site)
    assert (end.outcome, end.exits) == ("exited", {"script": exit})
    assert not is_alive(left)
    said = (end.folder / OUTPUT_FILE).read_text()
    assert f"and ended now: {Path(sys.executable).name[:15]} (pid {left.pid})\n" in said


async def test_an_ssh_agent_is_ended_and_named(site: Site) -> None:
    assert shutil.which("ssh-agent"), (
        "install OpenSSH's client (Debian: apt install openssh-client)"
    )
    end = await run(site, shell(site, 'eval "$(ssh-agent)"; echo $SSH_AGENT_PID > left'))
    left = await left_by(site)
    assert end.succeeded()
    assert not is_alive(left)
    assert f"ssh-agent (pid {left.pid})\n" in (end.folder / OUTPUT_FILE).read_text()


async def test_a_daemon_goes_with_a_tool_that_is_interrupted(site: Site) -> None:
    (site.marks / "daemon.py").write_text(DAEMON)
    script = f"{sys.executable} daemon.py; exec sleep 3600"
    end = await run(site, shell(site, script, timeout=4))
    assert end.outcome == "timed_out"
    assert not is_alive(await left_by(site))


async def test_what_loses_its_parent_stays_no_zombie(site: Site) -> None:
    """A tool that runs for hours may leave thousands of processes that end by themselves; the
    tool's own end must still be noticed."""
    script = "for n in $(seq 50); do (true & true &) ; done; touch all; until [ -e go ]; do :; done"
    running = asyncio.create_task(run(site, shell(site, f"{script}; exit 7")))
    await site.mark("all")
    supervisor, tool = site.supervisor("1-tool"), await site.tool("1-tool")
    await until(lambda: children(supervisor.pid) == [tool.pid])
    (site.marks / "go").touch()
    assert (await running).exits == {"script": 7}


async def test_what_cannot_be_ended_is_named_and_waited_for_no_longer(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Such as another user's daemon that `sudo` started."""
    (site.marks / "sitecustomize.py").write_text(DEAF)
    monkeypatch.setenv("PYTHONPATH", str(site.marks))
    (site.marks / "daemon.py").write_text(DAEMON)
    script = f"{sys.executable} daemon.py && until [ -s left ]; do sleep 0.02; done"
    end = await run(site, shell(site, script))
    left = await left_by(site)
    try:
        assert is_alive(left)
        assert end.succeeded()
        said = (end.folder / OUTPUT_FILE).read_text()
        assert f"cannot be ended by this user: {Path(sys.executable).name[:15]}" in said
    finally:
        os.kill(left.pid, signal.SIGKILL)


async def test_a_tool_that_removes_the_folder_of_its_run_has_ended_all_the_same(site: Site) -> None:
    folder = site.data / "runs" / KEY / "1-tool"
    end = await run(site, shell(site, f"rm -rf {folder}; exit 0"))
    assert (end.outcome, end.exits) == ("exited", {"script": 0})
