"""Runs that a killed control worker had in memory do not wait for it for long."""

import os
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import ExitStack
from datetime import timedelta
from pathlib import Path

import pytest
import pytest_asyncio
from temporalio.api.enums.v1 import EventType, TimeoutType
from temporalio.client import Client

from activities.installs.stack import WorkerAddresses
from tests.workflows.workflow_plane import temporal
from tests.workflows.workflow_site import Handle, Site, approve, asked
from workers.control import make

ROOT = Path(__file__).parents[2]
DEFAULT_SECONDS = 10
"""The SDK's default wait for the worker that has the run in memory."""

pytestmark = [pytest.mark.process, pytest.mark.asyncio(loop_scope="module")]


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def client() -> AsyncIterator[Client]:
    async with temporal() as connected:
        yield connected


@pytest.fixture
def control_workers(client: Client) -> Iterator[list["subprocess.Popen[bytes]"]]:
    """Two control workers; either can take over from the other."""
    address = client.service_client.config.target_host
    argv = [
        *(sys.executable, "-m", "workers.control", "--address", address, "--namespace", "dev"),
        *("--releases", "http://127.0.0.1:9"),
        *("--worker-temporal", address, "--worker-releases", "http://127.0.0.1:9"),
    ]
    with ExitStack() as stack:
        started = [
            stack.enter_context(subprocess.Popen(argv, cwd=ROOT, stderr=subprocess.DEVNULL))
            for _ in range(2)
        ]
        yield started
        for process in started:
            process.kill()


async def who_has_it(run: Handle) -> int:
    """The pid of the worker that answered the run's last workflow task."""
    identity = ""
    async for event in run.fetch_history_events():
        if event.event_type == EventType.EVENT_TYPE_WORKFLOW_TASK_COMPLETED:
            identity = event.workflow_task_completed_event_attributes.identity
    return int(identity.partition("@")[0])


async def waits_for_the_dead(run: Handle) -> list[float]:
    """How long the run's tasks waited for a worker that did not take them, in seconds."""
    found, scheduled = [], 0
    async for event in run.fetch_history_events():
        if event.event_type == EventType.EVENT_TYPE_WORKFLOW_TASK_SCHEDULED:
            scheduled = event.event_time.ToNanoseconds()
        timed_out = event.workflow_task_timed_out_event_attributes
        if timed_out.timeout_type == TimeoutType.TIMEOUT_TYPE_SCHEDULE_TO_START:
            found.append((event.event_time.ToNanoseconds() - scheduled) / 1e9)
    return found


async def test_how_long_a_task_waits_for_a_worker_that_may_be_dead(client: Client) -> None:
    addresses = WorkerAddresses("127.0.0.1:7233", "http://127.0.0.1:9")
    waits = make(client, "http://127.0.0.1:9", addresses).config()[
        "sticky_queue_schedule_to_start_timeout"
    ]
    assert timedelta(seconds=1) <= waits < timedelta(seconds=3)


async def test_an_approval_counts_soon(
    client: Client, control_workers: list["subprocess.Popen[bytes]"]
) -> None:
    site = Site(client, "killed")
    async with site.serving():
        await site.begin()
        run = await site.run("deprovision", {})
        await asked(run, "net")
        pid = await who_has_it(run)
        assert pid in {one.pid for one in control_workers}
        os.kill(pid, signal.SIGKILL)
        next(one for one in control_workers if one.pid == pid).wait()
        await approve(run, "net")
        await run.result()
    # By the server's clock. The server may also know at once that the worker is gone.
    assert all(seconds < DEFAULT_SECONDS / 2 for seconds in await waits_for_the_dead(run))
