"""One supervised process: readiness, restart, end."""

import asyncio
import json
import os
import signal
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from exclave.dev import child as child_module
from exclave.dev.child import Child, FailedToStart
from exclave.dev.data import DataFolderInUse, PidFile, hold
from exclave.dev.programs import Program
from tests.exclave.conftest import Said

Make = Callable[[Program], Child]


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[tuple[PidFile, int]]:
    with hold(tmp_path) as held:
        yield held


@pytest.fixture
def make(folder: tuple[PidFile, int], said: Said) -> Make:
    return lambda program: Child(program, *folder, said)


async def test_it_serves_under_its_pid_in_a_session_of_its_own(
    make: Make, stand_in: Callable[..., Program], tmp_path: Path, alive: Callable[[int], bool]
) -> None:
    child = make(stand_in("one"))
    await child.start()
    pid = child.pid
    assert pid is not None
    assert json.loads((tmp_path / "pids.json").read_text()) == {"one": pid}
    assert os.getsid(pid) == pid
    await child.stop()
    assert not alive(pid)
    assert json.loads((tmp_path / "pids.json").read_text()) == {}


@pytest.mark.parametrize(
    ("first", "how"),
    [
        ("sys.exit(3)", "one ended with status 3 before it was ready"),
        ("os.kill(os.getpid(), 9)", "one ended with signal 9 before it was ready"),
    ],
)
async def test_dying_before_it_serves_is_reported_with_its_status(
    make: Make, stand_in: Callable[..., Program], first: str, how: str
) -> None:
    with pytest.raises(FailedToStart, match=how):
        await make(stand_in("one", first=first)).start()


async def test_a_silent_process_is_given_up_and_ended(
    make: Make,
    stand_in: Callable[..., Program],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    alive: Callable[[int], bool],
) -> None:
    monkeypatch.setattr(child_module, "READY_SECONDS", 0.5)
    child = make(stand_in("one", first="signal.pause()"))
    starting = asyncio.create_task(child.start())
    with pytest.raises(FailedToStart, match=r"one \(pid \d+\) was not ready within") as caught:
        await starting
    assert not alive(int(str(caught.value).split("pid ")[1].split(")")[0]))


async def test_a_program_that_is_not_there_is_named(make: Make) -> None:
    with pytest.raises(FailedToStart, match="one cannot be started: /nowhere/x: No such file"):
        await make(Program("one", "one", ("/nowhere/x",))).start()


async def test_a_probe_does_not_pass_for_a_dead_process(
    make: Make, stand_in: Callable[..., Program]
) -> None:
    async def somebody_else_answers() -> None:
        await asyncio.Event().wait()

    program = Program("one", "one", ("/bin/sh", "-c", "exit 4"), probe=somebody_else_answers)
    with pytest.raises(FailedToStart, match="one ended with status 4"):
        await make(program).start()


async def test_a_killed_process_is_reported_and_started_again(
    make: Make, stand_in: Callable[..., Program], said: Said, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(child_module, "FIRST_DELAY_SECONDS", 0.01)
    child = make(stand_in("one"))
    await child.start()
    child.keep()
    first = child.pid
    assert first is not None
    os.kill(first, signal.SIGKILL)
    assert await said.until("ended") == "one ended with signal 9; restarting it in 0 s"
    await said.until(f"one is up again (pid {child.pid}" if child.pid else "one is up again")
    assert child.pid not in (None, first)
    await child.stop()


async def test_the_delay_grows_while_it_keeps_dying(
    make: Make,
    stand_in: Callable[..., Program],
    said: Said,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    monkeypatch.setattr(child_module, "FIRST_DELAY_SECONDS", 1.0)
    monkeypatch.setattr(child_module, "LONGEST_DELAY_SECONDS", 3.0)
    delays: list[float] = []
    sleep = asyncio.sleep

    async def shorter(seconds: float) -> None:
        delays.append(seconds)
        await sleep(0)

    flag = tmp_path / "broken"
    child = make(stand_in("one", first=f"os.path.exists({str(flag)!r}) and sys.exit(3)"))
    await child.start()
    flag.touch()
    monkeypatch.setattr(asyncio, "sleep", shorter)
    child.keep()
    child.terminate()
    while len(delays) < 4:
        await said.until("restarting it")
        await sleep(0)
    await child.stop()
    assert delays[:4] == [1.0, 2.0, 3.0, 3.0]


async def test_stopping_while_it_starts_again_leaves_nothing(
    make: Make, stand_in: Callable[..., Program], said: Said, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(child_module, "FIRST_DELAY_SECONDS", 0.0)
    child = make(stand_in("one"))
    await child.start()
    child.keep()
    pid = child.pid
    assert pid is not None
    os.kill(pid, signal.SIGKILL)
    await said.until("restarting it")
    await child.stop()
    assert child.pid is None


async def test_what_does_not_end_is_killed_unless_it_works(
    make: Make, stand_in: Callable[..., Program], said: Said, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(child_module, "GRACE_SECONDS", 0.2)
    stubborn = make(stand_in("one", patience=99))
    await stubborn.start()
    await stubborn.stop()
    assert "killing it" in said.lines[0]

    worker = make(stand_in("two", patience=2, works=True))
    await worker.start()
    stopping = asyncio.create_task(worker.stop())
    done, _ = await asyncio.wait({stopping}, timeout=0.6)
    assert not done
    worker.terminate()
    await stopping
    assert len(said.lines) == 1


async def test_the_data_folder_is_held_while_a_child_lives(
    stand_in: Callable[..., Program], tmp_path: Path, said: Said
) -> None:
    with hold(tmp_path) as held:
        child = Child(stand_in("one"), *held, said)
        await child.start()
    # As if `exclave dev` had been killed: its own descriptor is closed, but not the child's.
    message = rf"pids: one {child.pid}\).*kill {child.pid}"
    with pytest.raises(DataFolderInUse, match=message), hold(tmp_path):
        pytest.fail("was not held")
    await child.stop()
    with hold(tmp_path):
        pass
