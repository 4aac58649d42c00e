"""File locks: who holds one, who waits for one, and what happens to a wait that is cancelled."""

import asyncio
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from activities.operations.file_lock import Lock, is_held
from activities.operations.locks import hold, wait_free
from activities.operations.processes import LINUX, Process, identify, is_alive, send, send_holders


def sleeper(lock: Lock) -> subprocess.Popen[bytes]:
    return subprocess.Popen(["sleep", "60"], pass_fds=(lock.descriptor,))


def locker(path: Path) -> subprocess.Popen[bytes]:
    code = "import fcntl, sys; fcntl.flock(open(sys.argv[1], 'a'), fcntl.LOCK_EX)"
    return subprocess.Popen([sys.executable, "-W", "ignore", "-c", code, str(path)])


async def test_a_lock_is_held_until_it_is_released(tmp_path: Path) -> None:
    path = tmp_path / "a" / "lock"
    assert not is_held(path)
    waited = list[str]()
    with await hold(path, lambda: waited.append("first")):
        assert is_held(path)
        second = asyncio.create_task(hold(path, lambda: waited.append("second")))
        await asyncio.sleep(0.05)
        assert not second.done()
    (await second).release()
    assert not is_held(path)
    assert waited == ["second"]


async def test_a_wait_that_is_cancelled_keeps_nothing(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    with await hold(path):
        waits = [asyncio.create_task(hold(path)) for _ in range(5)]
        await asyncio.sleep(0.05)
        for wait in waits:
            wait.cancel()
        await asyncio.gather(*waits, return_exceptions=True)
    async with asyncio.timeout(20):
        await wait_free(path)
        (await hold(path)).release()


async def test_a_child_that_inherits_the_lock_holds_it(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    with await hold(path) as lock:
        child = sleeper(lock)
    assert is_held(path)
    free = asyncio.create_task(wait_free(path))
    await asyncio.sleep(0.05)
    assert not free.done()
    child.kill()
    child.wait()
    await free


@pytest.mark.skipif(not LINUX, reason="the holders of a lock can be asked on Linux only")
async def test_holders_are_signalled_and_those_who_wait_are_not(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    with await hold(path) as lock:
        child = sleeper(lock)
    waiter = locker(path)
    free = asyncio.create_task(wait_free(path))
    await asyncio.sleep(0.2)
    send_holders(path, signal.SIGKILL, but_groups=())
    assert child.wait(20) == -signal.SIGKILL
    assert waiter.wait(20) == 0
    await free


def test_a_process_with_the_same_pid_is_another_process() -> None:
    child = subprocess.Popen(["sleep", "60"])
    known = identify(child.pid)
    other = Process(child.pid, "before")
    assert is_alive(known)
    assert not is_alive(other)
    assert not send(other, signal.SIGKILL)
    assert child.poll() is None
    assert send(known, signal.SIGKILL)
    os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
    assert not is_alive(known)
    child.wait()
    assert not send(known, signal.SIGKILL)
