"""A declaration on free ports, a registry, and small processes that stand in for real ones."""

import asyncio
import os
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from exclave.dev.programs import Program

ROOT = Path(__file__).parents[2]

STAND_IN = """
import os, signal, sys
asked = 0
def on_term(number, frame):
    global asked
    asked += 1
    with open({log!r}, "a") as log:
        print({name!r}, file=log)
    if asked >= {patience}:
        sys.exit(0)
signal.signal(signal.SIGTERM, on_term)
signal.alarm(60)  # whatever becomes of the test, this process ends
{first}
os.write(int(os.environ["EXCLAVE_READY_FD"]), b"ready\\n")
os.close(int(os.environ["EXCLAVE_READY_FD"]))
while True:
    signal.pause()
"""


class Said:
    """The lines printed for a person, awaited one by one."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self._queue: asyncio.Queue[str] = asyncio.Queue()

    def __call__(self, text: str) -> None:
        self.lines.append(text)
        self._queue.put_nowait(text)

    async def until(self, part: str) -> str:
        """Wait for a line that contains `part`."""
        async with asyncio.timeout(20):
            while True:
                line = await self._queue.get()
                if part in line:
                    return line


@pytest.fixture
def said() -> Said:
    return Said()


@pytest.fixture
def stand_in(tmp_path: Path) -> Callable[..., Program]:
    """Makes a program that ends after `patience` signals, and logs each of them."""

    (tmp_path / "asked.log").touch()

    def make(name: str, *, first: str = "", patience: int = 1, works: bool = False) -> Program:
        script = STAND_IN.format(
            log=str(tmp_path / "asked.log"), name=name, first=first, patience=patience
        )
        return Program(name, name, (sys.executable, "-c", script), works=works)

    return make


@pytest.fixture
def free_ports() -> list[int]:
    """Four free ports of the loopback address."""
    with ExitStack() as held:
        ports: list[int] = []
        for _ in range(4):
            probe = held.enter_context(socket.socket())
            probe.bind(("127.0.0.1", 0))
            ports.append(probe.getsockname()[1])
        return ports


@pytest.fixture
def registry(tmp_path: Path, free_ports: list[int]) -> Iterator[dict[str, str]]:
    """The real registry process: its push and its pull URL."""
    push, pull = (f"127.0.0.1:{port}" for port in free_ports[:2])
    read_end, write_end = os.pipe()
    process = subprocess.Popen(
        [
            *(sys.executable, "-m", "workers.registry"),
            *("--layout", str(tmp_path / "registry"), "--push", push, "--pull", pull),
        ],
        cwd=ROOT,
        pass_fds=(write_end,),
        env={**os.environ, "EXCLAVE_READY_FD": str(write_end)},
    )
    os.close(write_end)
    with os.fdopen(read_end, "rb") as ready:
        assert ready.readline() == b"ready\n"
    yield {"push": f"http://{push}", "pull": f"http://{pull}"}
    process.terminate()
    assert process.wait() == 0


@pytest.fixture
def declaration_file(tmp_path: Path, free_ports: list[int]) -> Path:
    """A declaration with free addresses, without gateway and codec, so that it starts faster."""
    ports = free_ports
    path = tmp_path / "temporal-dev.yaml"
    path.write_text(
        f"""
namespace: dev
data: data
temporal:
  address: 127.0.0.1:{ports[0]}
  ui: 127.0.0.1:{ports[1]}
  database: temporal.db
  dynamic_config:
    history.transferProcessorMaxPollRPS: 1000
    matching.numTaskqueueReadPartitions: 1
    matching.numTaskqueueWritePartitions: 1
  sqlite_pragmas: {{journal_mode: wal, synchronous: normal}}
registry: {{push: 127.0.0.1:{ports[2]}, pull: 127.0.0.1:{ports[3]}}}
workers: {{control: 1, build: 1}}
gateway: false
codec: false
"""
    )
    return path


@pytest.fixture
def alive() -> Callable[[int], bool]:
    """Whether a process of this pid exists and is no zombie."""

    def check(pid: int) -> bool:
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return False
        status = Path(f"/proc/{pid}/stat")
        return not status.exists() or status.read_text().rpartition(")")[2].split()[0] != "Z"

    return check
