"""How much memory an idle install worker uses, and how long it takes from its start to being ready.

The worker runs as in a customer's account: with the stack that was made for it, enrolled through a
gateway by TLS, with encrypted payloads and a folder as its store. Its memory is read some seconds
after it reported that it is ready: once when it has just made its keys and enrolled, and once after
a restart. For comparison: a worker without gateway and encryption, one that Install has asked to
describe itself, the same one after a deploy, and one whose store is in S3, since the library for S3
is large. RSS counts shared libraries fully, though many processes may share them; PSS counts them
in part. The goal is for RSS.

Where the memory goes is measured in fresh processes: how much each package adds when the worker's
modules are imported one after the other. In the chosen order, the first package that needs
something shared is charged for it.
"""

import argparse
import asyncio
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass

from bench.configs import EMPTY
from bench.processes import Memory, grown_by_imports, memory_of
from bench.report import Report
from bench.running import main
from bench.testbed import BIN, ROOT, InstallWorker, Testbed, testbed
from tests.s3_server import ENVIRONMENT, running_s3

GOAL_MEGABYTES = 90

_IMPORTS = [
    (
        "standard library: asyncio, ssl",
        ["workers.unused_imports", "asyncio", "ssl", "logging", "argparse", "subprocess"],
    ),
    ("Temporal's SDK: the API's messages, the core", ["temporalio.client"]),
    ("Temporal's SDK: workers", ["temporalio.worker"]),
    ("pydantic", ["pydantic", "pydantic.main", "temporalio.contrib.pydantic"]),
    ("the encryption libraries", ["cryptography.hazmat.primitives.ciphers.aead"]),
    ("Exclave: the contract and its models", ["contracts.deploys", "contracts.installs"]),
    ("Exclave: everything else", ["workers.exclave_worker"]),
]
"""What an install worker imports, ordered so that each needs only what comes before it."""

_SUPERVISOR = "activities.operations.supervisor"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--workers", type=int, default=3, help="idle workers to measure (default: %(default)s)"
    )
    parser.add_argument(
        "--idle-seconds",
        type=float,
        default=5,
        help="from ready to the measurement (default: %(default)s)",
    )


@dataclass
class _Idle:
    """The measurements of idle workers of one kind."""

    ready: list[float]
    memory: list[Memory]

    @staticmethod
    def none() -> "_Idle":
        return _Idle([], [])

    @property
    def resident(self) -> list[float]:
        return [one.resident for one in self.memory]

    async def sample(self, worker: InstallWorker, seconds: float, **environment: str) -> None:
        """Start the worker, measure it after it was idle for so long, and stop it."""
        with _started(worker, environment) as ready:
            await asyncio.sleep(seconds)
            self.ready.append(ready)
            self.memory.append(memory_of(_pid(worker)))


async def measure(bed: Testbed, settings: argparse.Namespace) -> Report:
    report = Report("An idle install worker")
    pause = settings.idle_seconds
    new, again, direct = _Idle.none(), _Idle.none(), _Idle.none()
    with testbed(guarded=True) as guarded:
        for number in range(settings.workers):
            worker = guarded.worker(f"idle-{number}")
            await new.sample(worker, pause)
            await again.sample(worker, pause)
            await direct.sample(bed.worker(f"direct-{number}"), pause)
        resident = report.median("memory (RSS), enrolled", new.resident, "MB", GOAL_MEGABYTES)
        report.median("  as PSS", [one.proportional for one in new.memory], "MB")
        _where_it_goes(report, resident.value, settings.workers)
        report.median("memory (RSS), enrolled before", again.resident, "MB")
        report.median("memory (RSS), without a gateway", direct.resident, "MB")
        described, worked = await _at_work(guarded, pause)
        report.median("memory (RSS), idle, described to Install", [described.resident], "MB")
        report.median("memory (RSS), idle again after a deploy", [worked.resident], "MB")
        in_s3 = await _with_a_store_in_s3(guarded, pause)
        report.median("memory (RSS), idle, with a store in S3", in_s3.resident, "MB")
    report.median("from exec to ready, enrolling", new.ready, "s")
    report.median("from exec to ready, enrolled before", again.ready, "s")
    report.median("from exec to ready, without a gateway", direct.ready, "s")
    _supervisor(report, settings.workers)
    return report


@contextmanager
def _started(worker: InstallWorker, environment: Mapping[str, str]) -> Iterator[float]:
    """Seconds from the worker's exec until it reported that it is ready; stops it at the end."""
    reading, writing = os.pipe()
    with worker.log.open("ab") as log, os.fdopen(reading, "rb") as pipe:
        begun = time.monotonic()
        worker.process = subprocess.Popen(
            [BIN / "exclave-worker", worker.enrolment],
            env={**os.environ, **environment, "EXCLAVE_READY_FD": str(writing)},
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
    worker.starts += 1
    if not said:
        raise RuntimeError(f"the worker ended before it was ready; its log is {worker.log}")
    try:
        yield seconds
    finally:
        worker.stop()


def _pid(worker: InstallWorker) -> int:
    if worker.process is None:
        raise RuntimeError(f"the worker of {worker.install} is not running")
    return worker.process.pid


async def _at_work(bed: Testbed, seconds: float) -> tuple[Memory, Memory]:
    """A worker that Install has asked to describe itself; and the same one after a deploy."""
    client = await bed.connect()
    install = await bed.install(client, "idle-again", {"empty": EMPTY})
    await asyncio.sleep(seconds)
    described = memory_of(_pid(install.worker))
    await (await install.deploy_approved()).result()
    await asyncio.sleep(seconds)
    return described, memory_of(_pid(install.worker))


async def _with_a_store_in_s3(bed: Testbed, seconds: float) -> _Idle:
    seen = _Idle.none()
    with running_s3() as server:
        worker = bed.worker("idle-s3")
        store = f'store = "s3://{server.make_bucket()}/x"\nstore_endpoint = "{server.endpoint}"\n'
        worker.enrolment.write_text(worker.enrolment.read_text() + store)
        await seen.sample(worker, seconds, **ENVIRONMENT)
    return seen


def _where_it_goes(report: Report, whole: float, repetitions: int) -> None:
    modules = [module for _, some in _IMPORTS for module in some]
    runs = [dict(grown_by_imports(modules, ROOT)) for _ in range(repetitions)]
    base = report.median("  Python itself", [run["python"] for run in runs], "MB")
    known = base.value
    for name, some in _IMPORTS:
        added = [sum(run[module] for module in some) for run in runs]
        known += report.median(f"  {name}", added, "MB").value
    report.add("  running: the core's threads and buffers", whole - known, "MB")


def _supervisor(report: Report, repetitions: int) -> None:
    """The process that starts for each run of a tool: its memory, and how long importing takes."""
    sizes, seconds = [], []
    for _ in range(repetitions):
        sizes.append(sum(size for _, size in grown_by_imports([_SUPERVISOR], ROOT)))
        begun = time.monotonic()
        subprocess.run([sys.executable, "-P", "-c", f"import {_SUPERVISOR}"], check=True)
        seconds.append(time.monotonic() - begun)
    report.median("a tool's supervisor: memory (RSS)", sizes, "MB")
    report.median("a tool's supervisor: start and end of the process", seconds, "s")
    report.add("  Python itself", statistics.median(_bare_starts(repetitions)), "s")


def _bare_starts(repetitions: int) -> list[float]:
    seconds = []
    for _ in range(repetitions):
        begun = time.monotonic()
        subprocess.run([sys.executable, "-P", "-c", "pass"], check=True)
        seconds.append(time.monotonic() - begun)
    return seconds


if __name__ == "__main__":
    main("bench.idle_worker", __doc__, add_arguments, measure)
