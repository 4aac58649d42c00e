"""How long a deploy takes to its first activity, compared with a bare workflow on the same server.

The bare workflow has one activity that does nothing, on another worker's queue. A Deploy is started
by an update of Install, is given its turn, reads the release's graph, and starts `deploy.scope` on
the install worker. Each is measured by the server's clock, from its own start to the start of its
first activity. The kinds alternate.

A second bare workflow has its activity on its own worker. Temporal then hands out the activity with
its answer to the workflow task, which is impossible for a worker in another account; this one is
only reported.
"""

import argparse
import time
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass, field

from temporalio.client import Client

from bench.bare import BARE_QUEUE, REMOTE_QUEUE, bare_workers
from bench.configs import NOTHING
from bench.histories import FirstSteps, accepted_updates, first_steps
from bench.report import Report
from bench.running import main
from bench.testbed import Install, Run, Testbed
from contracts.deploys import SCOPE, DeployInput

GOAL = 1.5
_WARM_UP = 3
"""Rounds that are not counted; they warm up connections, caches and imports."""


@dataclass
class _Started:
    """What was started: bare workflows by their ids, deploys by the ids of their updates."""

    remote: list[str] = field(default_factory=list)
    eager: list[str] = field(default_factory=list)
    deploys: dict[str, Run] = field(default_factory=dict)
    sent: dict[str, float] = field(default_factory=dict)
    """When each update was sent; epoch seconds."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--starts", type=int, default=30, help="starts of each kind (default: %(default)s)"
    )


async def measure(bed: Testbed, settings: argparse.Namespace) -> Report:
    client = await bed.connect()
    install = await bed.install(client, "first-activity", {"nothing": NOTHING})
    await (await install.deploy()).result()
    async with bare_workers(client):
        await _start_alternately(client, install, "warm-up", _WARM_UP)
        started = await _start_alternately(client, install, "round", settings.starts)
    return await _report(client, install, started)


async def _start_alternately(client: Client, install: Install, label: str, rounds: int) -> _Started:
    """Start one of each kind per round; the order rotates, so that no kind has a fixed place."""
    started = _Started()

    async def remote(name: str) -> None:
        started.remote.append(await _start_bare(client, f"bare/remote/{name}", REMOTE_QUEUE))

    async def eager(name: str) -> None:
        started.eager.append(await _start_bare(client, f"bare/eager/{name}", BARE_QUEUE))

    async def deploy(name: str) -> None:
        started.sent[name] = time.time()
        started.deploys[name] = await _start_deploy(install, name)

    kinds: list[Callable[[str], Awaitable[None]]] = [remote, eager, deploy]
    for number in range(rounds):
        turn = number % len(kinds)
        for start in kinds[turn:] + kinds[:turn]:
            await start(f"{label}-{number}")
    return started


async def _start_bare(client: Client, workflow_id: str, activity_queue: str) -> str:
    await client.execute_workflow("Bare", activity_queue, id=workflow_id, task_queue=BARE_QUEUE)
    return workflow_id


async def _start_deploy(install: Install, update_id: str) -> Run:
    run = await install.deploy(update_id)
    result = await run.result()
    if [one.outcome for one in result.components] != ["skipped"]:
        raise RuntimeError(f"a deploy without a change should skip its component: {result}")
    status = await install.status()
    if status.holder is not None:
        raise RuntimeError(f"the turn of an ended deploy should be free: {status}")
    return run


async def _report(client: Client, install: Install, started: _Started) -> Report:
    remote = [await _bare_steps(client, workflow_id) for workflow_id in started.remote]
    eager = [await _bare_steps(client, workflow_id) for workflow_id in started.eager]
    deploys = {name: await _deploy_steps(client, run) for name, run in started.deploys.items()}
    accepted = accepted_updates((await install.workflow.fetch_history()).events)
    begun = {name: steps.started + steps.seconds for name, steps in deploys.items()}

    report = Report("From a start to the first activity running")
    base = report.median("bare workflow", _ms(one.seconds for one in remote), "ms")
    _parts(report, remote)
    ours = report.median("Deploy", _ms(one.seconds for one in deploys.values()), "ms")
    _parts(report, list(deploys.values()))
    report.ratio("Deploy against bare", ours, base, GOAL)
    own = report.median(
        "bare workflow, own worker's activity", _ms(one.seconds for one in eager), "ms"
    )
    report.ratio("Deploy against that", ours, own)
    report.median(
        "update accepted to activity", _ms(begun[name] - accepted[name] for name in begun), "ms"
    )
    report.median(
        "update sent to activity", _ms(begun[name] - started.sent[name] for name in begun), "ms"
    )
    return report


async def _bare_steps(client: Client, workflow_id: str) -> FirstSteps:
    history = await client.get_workflow_handle(workflow_id).fetch_history()
    return first_steps(history.events, "bare.nothing")


async def _deploy_steps(client: Client, run: Run) -> FirstSteps:
    events = (await run.fetch_history()).events
    payloads = events[0].workflow_execution_started_event_attributes.input.payloads
    (given,) = await client.data_converter.decode(payloads, [DeployInput])
    if given.grant is None:
        raise RuntimeError(f"{run.id} had to wait for its turn, so its time is meaningless")
    return first_steps(events, SCOPE.name)


def _parts(report: Report, steps: list[FirstSteps]) -> None:
    report.median("  until its task is taken", _ms(one.to_workflow_task for one in steps), "ms")
    report.median("  in the workflow task", _ms(one.in_workflow_task for one in steps), "ms")
    report.median("  until the activity is taken", _ms(one.to_activity for one in steps), "ms")


def _ms(seconds: Iterable[float]) -> list[float]:
    return [one * 1000 for one in seconds]


if __name__ == "__main__":
    main("bench.first_activity", __doc__, add_arguments, measure)
