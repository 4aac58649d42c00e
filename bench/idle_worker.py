"""What an idle install worker takes of memory, and how long it needs from its start to its work.

The worker runs as in a customer's account: with an enrolment file alone, connected outward, its
store a folder. It is looked at some seconds after it said that it is ready. Two more are looked at
for comparison: one after it has deployed something, and one whose store is in S3, since the library
for that is large. RSS counts shared libraries as a whole, though many processes may share them; PSS
counts a part. The goal is on RSS.

Where it goes is measured in fresh processes: what each package adds when the worker's modules are
imported one after the other. An order has to be chosen; the first one pays for what both need.
"""

import argparse
import asyncio
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

from bench.configs import EMPTY
from bench.processes import Memory, grown_by_imports, memory_of
from bench.report import Report
from bench.running import main
from bench.testbed import BIN, ROOT, InstallWorker, Testbed
from tests.s3_server import ENVIRONMENT, running_s3

GOAL_MEGABYTES = 90

_IMPORTS = [
    (
        "standard library: asyncio, ssl",
        ["workers.left_out", "asyncio", "ssl", "logging", "argparse", "subprocess"],
    ),
    ("Temporal's SDK: the API's messages, the core", ["temporalio.client"]),
    ("Temporal's SDK: workers", ["temporalio.worker"]),
    ("pydantic", ["pydantic", "pydantic.main", "temporalio.contrib.pydantic"]),
    ("httpx", ["artifacts", "httpx"]),
    ("ours: the contract and its models", ["contracts.deploys", "contracts.installs"]),
    ("ours: everything else", ["workers.exclave_worker"]),
]
"""What an install worker imports, in an order in which each needs only what is before it."""

_SUPERVISOR = "activities.operations.supervisor"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--workers", type=int, default=3, help="idle workers to look at (default: %(default)s)"
    )
    parser.add_argument(
        "--idle-seconds",
        type=float,
        default=5,
        help="between ready and the look (default: %(default)s)",
    )


async def measure(bed: Testbed, settings: argparse.Namespace) -> Report:
    report = Report("An idle install worker")
    ready, idle = [], []
    for number in range(settings.workers):
        with _started(bed, f"idle-{number}") as (worker, seconds):
            await asyncio.sleep(settings.idle_seconds)
            ready.append(seconds)
            idle.append(memory_of(_pid(worker)))
    resident = report.median(
        "memory (RSS)", [one.resident for one in idle], "MB", goal=GOAL_MEGABYTES
    )
    report.median("  as PSS", [one.proportional for one in idle], "MB")
    _where_it_goes(report, resident.value, settings.workers)
    worked = await _after_a_deploy(bed, settings.idle_seconds)
    report.median("memory (RSS), idle again after a deploy", [worked.resident], "MB")
    in_s3 = await _with_a_store_in_s3(bed, settings.idle_seconds)
    report.median("memory (RSS), idle, with a store in S3", [in_s3.resident], "MB")
    report.median("from exec to ready", ready, "s")
    _supervisor(report, settings.workers)
    return report


@contextmanager
def _started(bed: Testbed, name: str, store: str = "") -> Iterator[tuple[InstallWorker, float]]:
    """A worker of no install, that said it is ready so many seconds after its exec.

    Args:
        bed: Where.
        name: The worker's install.
        store: The lines of the enrolment file that name another store than a folder.
    """
    worker = InstallWorker(bed.plane, name, bed.folder)
    worker.enrolment.write_text(worker.enrolment.read_text() + store)
    reading, writing = os.pipe()
    with worker.log.open("ab") as log, os.fdopen(reading, "rb") as pipe:
        begun = time.monotonic()
        worker.process = subprocess.Popen(
            [BIN / "exclave-worker", worker.enrolment],
            env={**os.environ, **(ENVIRONMENT if store else {}), "EXCLAVE_READY_FD": str(writing)},
            pass_fds=[writing],
            stdout=log,
            stderr=log,
            stdin=subprocess.DEVNULL,
            start_new_session=True,
            cwd=worker.data,
        )
        os.close(writing)
        said = pipe.readline()
        seconds = time.monotonic() - begun
    worker.starts = 1
    if not said:
        raise RuntimeError(f"the worker ended before it was ready; its log is {worker.log}")
    try:
        yield worker, seconds
    finally:
        worker.stop()


def _pid(worker: InstallWorker) -> int:
    if worker.process is None:
        raise RuntimeError(f"the worker of {worker.install} does not run")
    return worker.process.pid


async def _after_a_deploy(bed: Testbed, seconds: float) -> Memory:
    client = await bed.connect()
    install = await bed.install(client, "idle-again", {"empty": EMPTY})
    await (await install.deploy_approved()).result()
    await asyncio.sleep(seconds)
    return memory_of(_pid(install.worker))


async def _with_a_store_in_s3(bed: Testbed, seconds: float) -> Memory:
    with running_s3() as server:
        store = f'store = "s3://{server.make_bucket()}/x"\nstore_endpoint = "{server.endpoint}"\n'
        with _started(bed, "idle-s3", store) as (worker, _):
            await asyncio.sleep(seconds)
            return memory_of(_pid(worker))


def _where_it_goes(report: Report, whole: float, repetitions: int) -> None:
    modules = [module for _, some in _IMPORTS for module in some]
    runs = [dict(grown_by_imports(modules, ROOT)) for _ in range(repetitions)]
    base = report.median("  of it Python itself", [run["python"] for run in runs], "MB")
    known = base.value
    for name, some in _IMPORTS:
        added = [sum(run[module] for module in some) for run in runs]
        known += report.median(f"  {name}", added, "MB").value
    report.add("  running: the core's threads and buffers", whole - known, "MB")


def _supervisor(report: Report, repetitions: int) -> None:
    """The process that starts for each run of a tool: what it imports, and how long that takes."""
    sizes, seconds = [], []
    for _ in range(repetitions):
        sizes.append(sum(size for _, size in grown_by_imports([_SUPERVISOR], ROOT)))
        begun = time.monotonic()
        subprocess.run([sys.executable, "-P", "-c", f"import {_SUPERVISOR}"], check=True)
        seconds.append(time.monotonic() - begun)
    report.median("a tool's supervisor: memory (RSS)", sizes, "MB")
    report.median("a tool's supervisor: start and end of the process", seconds, "s")
    report.add("  of it Python itself", statistics.median(_bare_starts(repetitions)), "s")


def _bare_starts(repetitions: int) -> list[float]:
    seconds = []
    for _ in range(repetitions):
        begun = time.monotonic()
        subprocess.run([sys.executable, "-P", "-c", "pass"], check=True)
        seconds.append(time.monotonic() - begun)
    return seconds


if __name__ == "__main__":
    main("bench.idle_worker", __doc__, add_arguments, measure)
