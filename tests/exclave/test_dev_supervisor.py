"""The whole control plane: order of draining, signals, and a start that fails half-way."""

import asyncio
import os
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from exclave.dev import supervisor as plane_module
from exclave.dev.child import FailedToStart
from exclave.dev.data import hold
from exclave.dev.declaration import read_declaration
from exclave.dev.programs import Program
from exclave.dev.supervisor import Supervisor
from tests.exclave.conftest import Said


@pytest.fixture
def plane(
    monkeypatch: pytest.MonkeyPatch,
    declaration_file: Path,
    stand_in: Callable[..., Program],
    said: Said,
) -> Iterator[Callable[..., Supervisor]]:
    """Makes a control plane of stand-ins: each argument describes one."""
    declaration = read_declaration(declaration_file)
    with hold(declaration.data) as held:

        def make(**special: dict[str, Any]) -> Supervisor:
            def program(name: str, works: bool = False) -> Program:
                return stand_in(name, works=works, **special.get(name, {}))

            monkeypatch.setattr(plane_module, "temporal_server", lambda _: program("temporal"))
            monkeypatch.setattr(plane_module, "registry", lambda _: program("registry"))
            workers = {name: [program(name, True)] for name in ("control", "build")}
            monkeypatch.setattr(plane_module, "control_workers", lambda _: workers["control"])
            monkeypatch.setattr(plane_module, "build_workers", lambda _: workers["build"])
            return Supervisor(declaration, *held, said)

        yield make


def interrupt() -> None:
    os.kill(os.getpid(), signal.SIGINT)


async def test_workers_end_first_then_the_registry_then_temporal(
    plane: Callable[..., Supervisor], said: Said, tmp_path: Path
) -> None:
    control_plane = plane()
    running = asyncio.create_task(control_plane.run())
    async with asyncio.timeout(20):
        await control_plane.up.wait()
    assert (tmp_path / "data" / "pids.json").exists()
    interrupt()
    await running
    asked = (tmp_path / "asked.log").read_text().split()
    assert sorted(asked[:2]) == ["build", "control"]
    assert asked[2:] == ["registry", "temporal"]
    assert not (tmp_path / "data" / "pids.json").exists()


async def test_the_second_signal_reaches_workers_and_the_third_names_those_left(
    plane: Callable[..., Supervisor], said: Said, tmp_path: Path
) -> None:
    control_plane = plane(build={"patience": 3})
    running = asyncio.create_task(control_plane.run())
    async with asyncio.timeout(20):
        await control_plane.up.wait()
    interrupt()
    await said.until("Draining")
    while "build" not in (tmp_path / "asked.log").read_text():
        await asyncio.sleep(0.01)
    interrupt()
    line = await said.until("Waiting for these to interrupt their tools")
    assert "build (pid " in line
    assert "registry" not in line
    interrupt()
    line = await said.until("Still waiting for")
    for name in ("temporal", "registry", "build"):
        assert f"{name} (pid " in line
    assert not running.done()
    # A person kills that worker, which ends the wait.
    os.kill(int(line.split("build (pid ")[1].split(")")[0]), signal.SIGKILL)
    await running


async def test_a_start_that_fails_half_way_leaves_nothing(
    plane: Callable[..., Supervisor], tmp_path: Path
) -> None:
    with pytest.raises(FailedToStart, match="control ended with status 7 before it was ready"):
        await plane(control={"first": "sys.exit(7)"}).run()
    asked = (tmp_path / "asked.log").read_text().split()
    assert asked[-2:] == ["registry", "temporal"]
    assert not (tmp_path / "data" / "pids.json").exists()


async def test_a_signal_while_starting_leaves_nothing(
    plane: Callable[..., Supervisor], said: Said, tmp_path: Path
) -> None:
    running = asyncio.create_task(plane(registry={"first": "signal.pause()"}).run())
    pids = tmp_path / "data" / "pids.json"
    while not (pids.exists() and "registry" in pids.read_text()):
        await asyncio.sleep(0.01)
    interrupt()
    await running
    assert not any("is up" in line for line in said.lines)
    assert not pids.exists()
