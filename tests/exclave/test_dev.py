"""`exclave dev` with the real Temporal server, registry and workers."""

import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import httpx
import pytest
from temporalio.client import Client

from exclave.dev.declaration import Declaration, read_declaration

ROOT = Path(__file__).parents[2]
NAMES = {"temporal", "registry", "codec", "gateway", "control", "build"}


class Dev:
    """A running `exclave dev`, and its output."""

    def __init__(self, file: Path) -> None:
        self.declaration: Declaration = read_declaration(file)
        self.process = subprocess.Popen(
            [sys.executable, "-m", "exclave", "dev", "--file", str(file)],
            cwd=ROOT,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        self.lines: list[str] = []

    def until(self, part: str) -> str:
        """Read lines until one contains `part`."""
        assert self.process.stdout
        for line in self.process.stdout:
            self.lines.append(line)
            if part in line:
                return line
        raise AssertionError(f"{part!r} was never said:\n{''.join(self.lines)}")

    def pids(self) -> dict[str, int]:
        """The content of `pids.json`."""
        text = (self.declaration.data / "pids.json").read_text()
        found: dict[str, int] = json.loads(text)
        return found

    def stop(self, number: int = signal.SIGINT) -> int:
        """Send a signal and wait until everything that inherited our pipe has ended."""
        self.process.send_signal(number)
        rest, _ = self.process.communicate(timeout=60)
        self.lines.append(rest)
        return self.process.returncode


@pytest.fixture
def start(declaration_file: Path) -> Iterator[Callable[[], Dev]]:
    started: list[Dev] = []

    def begin() -> Dev:
        started.append(Dev(declaration_file))
        return started[-1]

    yield begin
    for dev in started:
        if dev.process.poll() is None:
            dev.stop(signal.SIGTERM)
        if dev.process.stdout:
            dev.process.stdout.close()


@pytest.mark.e2e
def test_it_comes_up_restarts_what_dies_and_leaves_nothing(
    start: Callable[[], Dev],
    alive: Callable[[int], bool],
    declaration_file: Path,
    unused_tcp_port_factory: Callable[[], int],
) -> None:
    text = declaration_file.read_text()
    for key in ("gateway", "codec"):
        text = text.replace(f"{key}: false", f"{key}: 127.0.0.1:{unused_tcp_port_factory()}")
    declaration_file.write_text(text)
    dev = start()
    dev.until("control plane is up")
    first = dev.pids()
    assert set(first) == NAMES
    assert all(alive(pid) for pid in first.values())
    assert httpx.get(f"http://{dev.declaration.temporal.ui}/").status_code == 200
    shown = httpx.get(f"http://{dev.declaration.temporal.ui}/api/v1/settings").json()
    assert shown["Codec"]["Endpoint"] == f"http://{dev.declaration.codec}", "it shows plain text"
    assert httpx.get(f"http://{dev.declaration.registry.pull}/v2/").status_code == 200

    os.kill(first["control"], signal.SIGKILL)
    assert "restarting it" in dev.until("control worker ended with signal 9")
    dev.until("control worker is up again")
    # It comes back with its own key, since its token is used up.
    [token] = dev.declaration.data.glob("build-workers/*/enrolment-token")
    token.unlink()
    os.kill(first["build"], signal.SIGKILL)
    dev.until("build worker is up again")
    second = dev.pids()
    assert all(second[name] != first[name] for name in ("control", "build"))

    assert dev.stop() == 0
    assert not any(alive(pid) for pid in {*first.values(), *second.values()})
    assert not (dev.declaration.data / "pids.json").exists()


@pytest.mark.e2e
async def test_what_temporal_knows_survives_a_restart(start: Callable[[], Dev]) -> None:
    dev = start()
    dev.until("control plane is up")
    address = str(dev.declaration.temporal.address)
    client = await Client.connect(address, namespace="dev")
    await client.start_workflow("Whatever", id="kept/acme/1", task_queue="nobody")
    assert dev.stop(signal.SIGTERM) == 0
    assert dev.declaration.temporal.database.is_file()
    for path in (dev.declaration.data, *dev.declaration.data.rglob("*")):
        assert not path.stat().st_mode & 0o077, f"{path} is others' to read"

    dev = start()
    dev.until("control plane is up")
    client = await Client.connect(address, namespace="dev")
    description = await client.get_workflow_handle("kept/acme/1").describe()
    assert description.workflow_type == "Whatever"
    assert dev.stop() == 0


@pytest.mark.e2e
def test_a_taken_port_is_one_sentence_and_nothing_starts(
    start: Callable[[], Dev], declaration_file: Path
) -> None:
    address = read_declaration(declaration_file).temporal.address
    with socket.create_server((address.host, address.port)):
        dev = start()
        said, _ = dev.process.communicate(timeout=60)
    assert dev.process.returncode == 1
    assert said == (
        f"port {address.port} is taken on 127.0.0.1 by another process; stop it or change "
        f"temporal.address in {declaration_file}\n"
    )
    assert not (dev.declaration.data / "pids.json").exists()


@pytest.mark.e2e
def test_a_second_one_names_the_first_ones_processes(start: Callable[[], Dev]) -> None:
    first = start()
    first.until("control plane is up")
    pids = first.pids()
    second = start()
    said, _ = second.process.communicate(timeout=60)
    assert second.process.returncode == 1
    assert "in use by another `exclave dev`" in said
    assert f"control {pids['control']}" in said
    # It has not changed the first one's record.
    assert first.pids() == pids
    assert first.stop() == 0
