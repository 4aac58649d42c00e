"""A control worker runs no tools, so it exits in bounded time, whatever its runs do."""

import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
import pytest_asyncio

from client.stuck import stuck_if_asked
from contracts.installs import DescribeInput
from tests.workflows.encrypted_plane import MASTER, EncryptedPlane, encrypted_server
from tests.workflows.workflow_site import WORKER, Handle, Site, until

ROOT = Path(__file__).parents[2]
FAR_LONGER_SECONDS = 60
"""Well below the day that the drain would take otherwise."""

pytestmark = [pytest.mark.process, pytest.mark.asyncio(loop_scope="module")]


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def plane() -> AsyncIterator[EncryptedPlane]:
    async with encrypted_server() as started:
        yield started


@pytest.fixture
def control_worker(plane: EncryptedPlane, tmp_path: Path) -> Iterator[subprocess.Popen[str]]:
    """The real process, on the encrypted server."""
    keys = tmp_path / "keys.json"
    MASTER.write(keys)
    address = plane.client.service_client.config.target_host
    argv = [
        *(sys.executable, "-m", "workers.control", "--address", address, "--namespace", "dev"),
        *("--releases", "http://127.0.0.1:9", "--keys", str(keys)),
        *("--worker-temporal", address, "--worker-releases", "http://127.0.0.1:9"),
    ]
    with subprocess.Popen(argv, cwd=ROOT, stderr=subprocess.PIPE, text=True) as process:
        yield process
        process.kill()


def leaves(process: "subprocess.Popen[str]") -> str:
    """Signal it to end; returns its output."""
    process.send_signal(signal.SIGTERM)
    _, said = process.communicate(timeout=FAR_LONGER_SECONDS)
    assert process.returncode == 0, said
    return said


async def deprovisioning(plane: EncryptedPlane, install: str) -> tuple[Site, Handle]:
    """A run that waits for its install worker's answer."""
    site, worker = Site(plane.client, install), plane.install_worker(install)
    await site.begin()
    task = await worker.take()
    assert task.input == DescribeInput(install=install).model_dump(mode="json")
    await worker.complete(task, WORKER)
    return site, await site.run("deprovision", {})


async def test_while_a_run_waits_for_the_turn_of_another(
    plane: EncryptedPlane, control_worker: "subprocess.Popen[str]"
) -> None:
    """Watching the run that holds the turn lasts as long as another one waits."""
    site, _ = await deprovisioning(plane, "waits")
    second = await site.run("deprovision", {})
    await site.waits_for_turn(second)

    async def look() -> bool:
        pending = (await site.entity.describe()).raw_description.pending_activities
        return any(one.activity_type.name == "install.watch_run" for one in pending)

    await until(look)
    assert "Done" in leaves(control_worker)


async def test_while_the_tasks_of_a_run_fail(
    plane: EncryptedPlane, control_worker: "subprocess.Popen[str]"
) -> None:
    run = await plane.start_stuck("wedged")

    async def look() -> bool:
        return "was not given" in await stuck_if_asked(plane.client, run.id)

    await until(look)
    leaves(control_worker)
