"""What the gateway costs: activities through it, compared with direct ones; and an idle fleet.

Two workers on one Temporal server have the same activity, which does nothing, on two queues: one
worker is connected directly, the other by TLS through a gateway process. One activity at a time
gives the latency, from the order to the result; bursts give the throughput. Both kinds alternate,
so that other load on the machine affects both.

Then many idle install workers in another process, each with its own identity and connection, poll
through a second gateway. Once all of them poll, that gateway's memory and its share of one core are
measured for a while.
"""

import argparse
import asyncio
import os
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from datetime import timedelta
from pathlib import Path
from uuid import uuid4

from temporalio import activity, workflow
from temporalio.client import Client, TLSConfig
from temporalio.worker import UnsandboxedWorkflowRunner, Worker

from bench.processes import memory_of
from bench.report import Report
from bench.running import main
from bench.testbed import ROOT, Testbed
from tests.gateway.authority import Authority, make_authority

GOAL_LATENCY = 1.3
GOAL_THROUGHPUT = 1 / 0.7
"""The goal is at least 0.7 of the direct throughput, written as the highest allowed time ratio."""
GOAL_IDLE_MEGABYTES = 1000.0
GOAL_IDLE_CORE = 15.0
_WARM_UP = 10
_GATEWAY = ROOT / "tests" / "gateway" / "gateway_process.py"
_FLEET = Path(__file__).with_name("idle_fleet.py")
_QUEUE = "bench.gateway"
_DIRECT = "bench.direct"
_THROUGH = "install.bench"


@activity.defn(name="bench.nothing")
async def nothing() -> None:
    """Does nothing."""


@workflow.defn(name="BenchBurst")
class Burst:
    """Runs so many activities at the same time."""

    @workflow.run
    async def run(self, queue: str, activities: int) -> None:
        await asyncio.gather(
            *(
                workflow.execute_activity(
                    "bench.nothing", task_queue=queue, start_to_close_timeout=timedelta(minutes=1)
                )
                for _ in range(activities)
            )
        )


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--activities", type=int, default=200, help="single ones of each kind (%(default)s)"
    )
    parser.add_argument(
        "--bursts", type=int, default=10, help="bursts of each kind (default: %(default)s)"
    )
    parser.add_argument(
        "--burst-activities", type=int, default=200, help="activities in each burst (%(default)s)"
    )
    parser.add_argument(
        "--fleet", type=int, default=1000, help="idle install workers (default: %(default)s)"
    )
    parser.add_argument(
        "--fleet-seconds",
        type=float,
        default=120,
        help="how long the fleet is measured (default: %(default)s)",
    )


async def measure(bed: Testbed, settings: argparse.Namespace) -> Report:
    report = Report("The gateway")
    direct = await bed.connect()
    with tempfile.TemporaryDirectory() as folder:
        authority = make_authority(Path(folder))
        async with _gateway(bed, authority, "bench") as (gateway, address):
            through = await _through(bed, address, authority)
            async with (
                Worker(direct, task_queue=_DIRECT, activities=[nothing]),
                Worker(through, task_queue=_THROUGH, activities=[nothing]),
                Worker(
                    direct,
                    task_queue=_QUEUE,
                    workflows=[Burst],
                    workflow_runner=UnsandboxedWorkflowRunner(),
                ),
            ):
                before = _processor_seconds(gateway)
                await _latency(report, direct, settings.activities)
                await _throughput(report, direct, settings.bursts, settings.burst_activities)
                used = _processor_seconds(gateway) - before
            count = settings.activities + _WARM_UP
            count += (settings.bursts + 1) * settings.burst_activities
            report.add("the gateway's processor time for an activity", used * 1000 / count, "ms")
            report.median("memory (RSS), one worker", [memory_of(gateway).resident], "MB")
        names = [f"idle-{number}" for number in range(settings.fleet)]
        async with _gateway(bed, authority, *names) as (gateway, address):
            await _idle(report, bed, gateway, address, authority, settings)
    return report


async def _latency(report: Report, client: Client, count: int) -> None:
    async def one(queue: str) -> float:
        begun = time.monotonic()
        await client.execute_activity(
            "bench.nothing",
            id=uuid4().hex,
            task_queue=queue,
            start_to_close_timeout=timedelta(minutes=1),
        )
        return (time.monotonic() - begun) * 1000

    direct, through = await _alternately(one, count, _WARM_UP)
    base = report.median("an activity, direct", direct, "ms")
    value = report.median("an activity, through the gateway", through, "ms")
    report.ratio("latency through the gateway against direct", value, base, GOAL_LATENCY)


async def _throughput(report: Report, client: Client, bursts: int, activities: int) -> None:
    async def one(queue: str) -> float:
        begun = time.monotonic()
        await client.execute_workflow(
            Burst.run, args=[queue, activities], id=uuid4().hex, task_queue=_QUEUE
        )
        return (time.monotonic() - begun) * 1000 / activities

    direct, through = await _alternately(one, bursts, 1)
    base = report.median("an activity of a burst, direct", direct, "ms")
    value = report.median("an activity of a burst, through the gateway", through, "ms")
    report.ratio("a burst through the gateway against direct", value, base, GOAL_THROUGHPUT)


async def _alternately(
    one: Callable[[str], Awaitable[float]], count: int, warm_up: int
) -> tuple[list[float], list[float]]:
    """Samples of both queues; which goes first changes each time."""
    samples: dict[str, list[float]] = {_DIRECT: [], _THROUGH: []}
    for number in range(warm_up + count):
        order = (_DIRECT, _THROUGH) if number % 2 else (_THROUGH, _DIRECT)
        for queue in order:
            taken = await one(queue)
            if number >= warm_up:
                samples[queue].append(taken)
    return samples[_DIRECT], samples[_THROUGH]


async def _idle(  # noqa: PLR0913, PLR0917 - everything that the fleet needs
    report: Report,
    bed: Testbed,
    gateway: int,
    address: str,
    authority: Authority,
    settings: argparse.Namespace,
) -> None:
    fleet = await asyncio.create_subprocess_exec(
        sys.executable,
        str(_FLEET),
        *(address, bed.plane.namespace, str(authority.ca), str(settings.fleet)),
        stdout=asyncio.subprocess.PIPE,
        cwd=ROOT,
    )
    try:
        assert fleet.stdout is not None
        if not await fleet.stdout.readline():
            raise RuntimeError("the fleet of idle workers ended before all of it polled")
        before, begun = _processor_seconds(gateway), time.monotonic()
        await asyncio.sleep(settings.fleet_seconds)
        used = _processor_seconds(gateway) - before
        share = used / (time.monotonic() - begun) * 100
        memory = memory_of(gateway).resident
    finally:
        fleet.kill()
        await fleet.wait()
    report.median(
        f"memory (RSS), {settings.fleet} idle workers", [memory], "MB", GOAL_IDLE_MEGABYTES
    )
    report.median(f"of a core, {settings.fleet} idle workers", [share], "%", GOAL_IDLE_CORE)


@asynccontextmanager
async def _gateway(
    bed: Testbed, authority: Authority, *names: str
) -> AsyncIterator[tuple[int, str]]:
    """Run a gateway process for these installs; yields its pid and its address."""
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        str(_GATEWAY),
        *(bed.plane.address, "0", str(authority.certificate.parent), *names),
        stdout=asyncio.subprocess.PIPE,
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
    try:
        assert process.stdout is not None
        port = await process.stdout.readline()
        if not port:
            raise RuntimeError("the gateway ended before it was ready")
        yield process.pid, f"localhost:{int(port)}"
    finally:
        if process.returncode is None:
            process.kill()
        await process.wait()


async def _through(bed: Testbed, address: str, authority: Authority) -> Client:
    return await Client.connect(
        address,
        namespace=bed.plane.namespace,
        api_key="bench",
        tls=TLSConfig(server_root_ca_cert=authority.pem),
    )


def _processor_seconds(pid: int) -> float:
    """The processor time that a process has used so far."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


if __name__ == "__main__":
    main("bench.gateway", __doc__, add_arguments, measure)
