"""How long until an approval takes effect after kill -9 of the control worker that has its run.

    python -m bench.control_killed [--kills N] [--output json]

Temporal offers a run's next task to the worker that has the run in memory, and after a timeout to
another one. Two control workers are running; the one that has a run that waits for an approval gets
SIGKILL, and the plan is approved at once. Measured is the time until the update returns, with the
timeout that our control worker sets and with the SDK's default. Exit status 1 means that a goal was
missed.
"""

import argparse
import asyncio
import subprocess
import sys
import time
from contextlib import ExitStack
from datetime import timedelta
from unittest.mock import patch

from temporalio.client import Client

from activities.installs.stack import WorkerAddresses
from bench.report import Report, as_json
from bench.running import exit_status, parser_of
from bench.testbed import ROOT
from tests.workers.test_control_killed import who_has_it
from tests.workflows.workflow_plane import temporal
from tests.workflows.workflow_site import Site, approve, asked
from wire.connection import TemporalAddress, connect_once
from workers import control

GOAL = 0.3
"""Three seconds, compared with the SDK's ten."""

_NO_REGISTRY = "http://127.0.0.1:9"
_SDK_WAIT = timedelta(seconds=10)


async def _serve(address: str, wait: str) -> None:
    """Run our control worker, with another timeout if one is given."""
    client = await connect_once(TemporalAddress(address, "dev"))
    waits = timedelta(seconds=float(wait)) if wait else control._STICKY
    with patch.object(control, "_STICKY", waits):
        worker = control.make(client, _NO_REGISTRY, WorkerAddresses(address, _NO_REGISTRY))
    await worker.run()


async def _measure(kills: int) -> Report:
    report = Report("From kill -9 of a run's control worker until an approval takes effect")
    async with temporal() as client:
        default = await _kills(client, "default", kills, str(_SDK_WAIT.total_seconds()))
        ours = await _kills(client, "ours", kills, "")
    base = report.median("with the SDK's default timeout", default, "s")
    value = report.median("with Exclave's", ours, "s")
    report.ratio("Exclave's against the default", value, base, GOAL)
    return report


async def _kills(client: Client, name: str, kills: int, wait: str) -> list[float]:
    return [await _kill(client, f"{name}-{number}", wait) for number in range(kills)]


async def _kill(client: Client, name: str, wait: str) -> float:
    address = client.service_client.config.target_host
    site = Site(client, name)
    with ExitStack() as ending:
        workers = {one.pid: one for one in (_start(address, wait, ending) for _ in range(2))}
        async with site.serving():
            await site.begin()
            run = await site.run("deprovision", {})
            await asked(run, "net")
            victim = workers[await who_has_it(run)]
            victim.kill()
            victim.wait()
            killed = time.monotonic()
            await approve(run, "net")
            counted = time.monotonic() - killed
            await run.result()
    return counted


def _start(address: str, wait: str, ending: ExitStack) -> "subprocess.Popen[bytes]":
    argv = [sys.executable, "-m", "bench.control_killed", "--serve", address, "--wait", wait]
    process = ending.enter_context(subprocess.Popen(argv, cwd=ROOT))
    ending.callback(process.kill)
    return process


def main() -> None:
    parser = parser_of("bench.control_killed", __doc__)
    parser.add_argument(
        "--kills", type=int, default=5, help="kills of each kind (default: %(default)s)"
    )
    parser.add_argument("--serve", help=argparse.SUPPRESS)
    parser.add_argument("--wait", default="", help=argparse.SUPPRESS)
    settings = parser.parse_args()
    if settings.serve:
        asyncio.run(_serve(settings.serve, settings.wait))
        return
    report = asyncio.run(_measure(settings.kills))
    print(as_json([report]) if settings.output == "json" else report.as_text())
    sys.exit(exit_status([report]))


if __name__ == "__main__":
    main()
