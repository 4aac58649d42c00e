"""How long a deploy stands still when its install worker is killed in the middle of an apply.

The worker gets SIGKILL and is restarted at once. Temporal notices by a missing heartbeat, and gives
the activity to the new worker: the start of that attempt is "running again".

Two cases: only the worker dies, and the tool goes on by itself; or the worker, the supervisor and
the tool all die, and the new worker plans and applies what is left. Seconds, only reported.
"""

import argparse
import asyncio
import os
import signal
import time
from dataclasses import dataclass

from bench.configs import work
from bench.histories import activities, end_of
from bench.report import Report
from bench.running import main
from bench.testbed import Install, Run, Testbed, until
from contracts.deploys import TERRAFORM_APPLY

_READY = "Working on the queue"


@dataclass(frozen=True)
class _Recovered:
    """The results of one kill, in seconds since then."""

    worker_ready: float
    running_again: float
    deployed: float


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--apply-seconds",
        type=float,
        default=30,
        help="seconds of work in the apply (default: %(default)s)",
    )
    parser.add_argument(
        "--kills", type=int, default=2, help="kills of each kind (default: %(default)s)"
    )


async def measure(bed: Testbed, settings: argparse.Namespace) -> Report:
    client = await bed.connect()
    install = await bed.install(client, "recovery", {"work": work(settings.apply_seconds)})
    report = Report(
        f"After kill -9 of the install worker, {settings.apply_seconds:g} s of work in the apply"
    )
    _add(report, "worker alone", await _kills(install, settings.kills, everything=False))
    _add(report, "worker and tool", await _kills(install, settings.kills, everything=True))
    return report


async def _kills(install: Install, count: int, *, everything: bool) -> list[_Recovered]:
    name = "everything" if everything else "worker"
    return [await _kill(install, f"{name}-{number}", everything) for number in range(count)]


async def _kill(install: Install, value: str, everything: bool) -> _Recovered:
    await install.set_round("work", value)
    run = await install.deploy_approved()
    await _until_working(install, value, times=1)
    served = _times_ready(install)
    killed = time.time()
    _kill_processes(install, everything)
    install.worker.start()
    await asyncio.to_thread(
        until, lambda: _times_ready(install) > served, f"the restart of {install.worker.log}"
    )
    ready = time.time()
    await run.result()
    # A tool that was killed has to begin its work again; one that lives on must not.
    await _until_working(install, value, times=2 if everything else 1)
    running_again, deployed = await _ends(run)
    return _Recovered(ready - killed, running_again - killed, deployed - killed)


def _kill_processes(install: Install, everything: bool) -> None:
    """Kill the worker first, so that it cannot report anything; then, if asked, what it leaves."""
    install.worker.kill()
    if everything:
        for pid in install.worker.processes(""):
            os.kill(pid, signal.SIGKILL)


async def _until_working(install: Install, value: str, times: int) -> None:
    lines = install.worker.data / "work" / install.name / "work" / "lines"

    def begun() -> bool:
        found = lines.read_text().split().count(value) if lines.exists() else 0
        if found > times:
            raise RuntimeError(f"the work of {value} was begun {found} times, not {times}")
        return found == times

    await asyncio.to_thread(until, begun, f"{times} beginnings of {value} in {lines}")


def _times_ready(install: Install) -> int:
    return install.worker.log.read_text().count(_READY)


async def _ends(run: Run) -> tuple[float, float]:
    """When the apply's second attempt started, and when the deploy completed."""
    events = (await run.fetch_history()).events
    apply = next(one for one in activities(events) if one.name == TERRAFORM_APPLY.name)
    if apply.attempt != 2:
        raise RuntimeError(f"the apply of {run.id} took {apply.attempt} attempts instead of 2")
    return apply.started, end_of(events)


def _add(report: Report, case: str, kills: list[_Recovered]) -> None:
    report.median(f"{case}: restarted worker ready", [one.worker_ready for one in kills], "s")
    report.median(f"{case}: running again", [one.running_again for one in kills], "s")
    report.median(f"{case}: deploy done", [one.deployed for one in kills], "s")


if __name__ == "__main__":
    main("bench.recovery", __doc__, add_arguments, measure)
