"""A deploy of twenty components, compared with the engine time of its longest chain.

There are five rows of four; each component depends on two of the row above it, so the longest chain
has five components. Each has one resource with some seconds of work. One deploy on one install
worker plans all twenty, waits for approvals, and applies them; it is measured by the server's
clock, from its start to its end. A client that watches the history approves each plan at once; that
time is included.

The critical path is the chain that ended last, followed back from its end. Its engine time is how
long its Terraform commands ran (`init`, `plan`, `show`, `apply` and `output`) in this same deploy,
while those of other components ran beside them. So the ratio shows what Exclave adds: its own work,
the approvals, and the way from one component to the next.

For comparison, without a goal: the modules of such a chain by hand, with the same commands one
after the other and nothing else on the machine. That ratio also includes the cost of up to four
Terraform processes sharing the machine's processors.
"""

import argparse
import asyncio
from dataclasses import dataclass

from temporalio.api.history.v1 import HistoryEvent

from activities.terraform.tool import find_terraform
from bench.configs import work
from bench.histories import ActivityTimes, activities, end_of, start_of
from bench.report import Report
from bench.running import main
from bench.terraform_component import ByHand
from bench.testbed import Install, Testbed
from bench.timed_tool import Ran, TimedTool
from contracts.deploys import TERRAFORM_APPLY, TERRAFORM_PLAN

GOAL = 1.2
_ROWS = 5
_COLUMNS = 4


@dataclass(frozen=True)
class _Deployed:
    """The times of one deploy, in seconds; all but `whole` are for the chain that ended last."""

    whole: float
    engine: float
    """How long its Terraform commands ran."""
    activities: float
    """How long its plans and applies took, from scheduled to completed."""
    approvals: float
    """From the end of its plans until its applies were scheduled."""

    @property
    def added(self) -> float:
        """The time within the activities while no Terraform command ran."""
        return self.activities - self.engine

    @property
    def between(self) -> float:
        """The time outside the activities: turn, scope, between components, finish."""
        return self.whole - self.activities - self.approvals


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--chain-seconds",
        type=float,
        default=10,
        help="seconds of work in each of the twenty components (default: %(default)s)",
    )
    parser.add_argument(
        "--chain-times", type=int, default=2, help="deploys of the twenty (default: %(default)s)"
    )


def _name(row: int, column: int) -> str:
    return f"row{row}column{column % _COLUMNS}"


_COMPONENTS = [_name(row, column) for row in range(_ROWS) for column in range(_COLUMNS)]
_DEPENDENCIES = {
    _name(row, column): [_name(row - 1, column), _name(row - 1, column + 1)]
    for row in range(1, _ROWS)
    for column in range(_COLUMNS)
}


async def measure(bed: Testbed, settings: argparse.Namespace) -> Report:
    body = work(settings.chain_seconds)
    tool = find_terraform()
    chain = [ByHand(bed.folder / f"chain-{row}", tool, body) for row in range(_ROWS)]
    timed = TimedTool(bed.folder / "timed", tool.path)
    client = await bed.connect()
    install = await bed.install(
        client,
        "twenty-components",
        dict.fromkeys(_COMPONENTS, body),
        _DEPENDENCIES,
        timed.environment,
    )
    ours = [await _deploy(install, timed, str(number)) for number in range(settings.chain_times)]
    by_hand = await asyncio.to_thread(_deploy_chain, chain)
    return _report(settings, ours, by_hand)


def _deploy_chain(chain: list[ByHand]) -> float:
    return sum(one.deploy("0").both for one in chain)


async def _deploy(install: Install, timed: TimedTool, value: str) -> _Deployed:
    await install.set_rounds(_COMPONENTS, value)
    run = await install.deploy_approved(plans=len(_COMPONENTS))
    result = await run.result()
    if any(one.outcome != "applied" for one in result.components):
        raise RuntimeError(f"not all of the twenty components were applied: {result}")
    return _read(list((await run.fetch_history()).events), timed.take())


def _read(events: list[HistoryEvent], ran: list[Ran]) -> _Deployed:
    found = activities(events)
    plans = {one.input["component"]: one for one in found if one.name == TERRAFORM_PLAN.name}
    applies = {one.input["component"]: one for one in found if one.name == TERRAFORM_APPLY.name}
    chain = _last_chain(applies)
    return _Deployed(
        whole=end_of(events) - start_of(events),
        engine=sum(one.seconds for one in ran if one.folder in chain),
        activities=sum(plans[name].seconds + applies[name].seconds for name in chain),
        approvals=sum(applies[name].scheduled - plans[name].completed for name in chain),
    )


def _last_chain(applies: dict[str, ActivityTimes]) -> list[str]:
    """The chain of components that waited for each other, from the one applied last backwards."""
    chain = [max(applies, key=lambda name: applies[name].completed)]
    while chain[-1] in _DEPENDENCIES:
        chain.append(max(_DEPENDENCIES[chain[-1]], key=lambda name: applies[name].completed))
    return chain


def _report(settings: argparse.Namespace, ours: list[_Deployed], by_hand: float) -> Report:
    report = Report(
        f"Twenty components in chains of five, {settings.chain_seconds:g} s of work in each"
    )
    whole = report.median("Exclave, all twenty", [one.whole for one in ours], "s")
    engine = report.median(
        "  Terraform runs on the critical path", [one.engine for one in ours], "s"
    )
    report.median("  time added to its plans and applies", [one.added for one in ours], "s")
    report.median("  waiting for its approvals", [one.approvals for one in ours], "s")
    report.median("  everything else", [one.between for one in ours], "s")
    report.ratio("Exclave against its critical path's engine time", whole, engine, GOAL)
    alone = report.add("a chain of five by hand, alone on the machine", by_hand, "s")
    report.ratio("Exclave against that chain", whole, alone)
    return report


if __name__ == "__main__":
    main("bench.twenty_components", __doc__, add_arguments, measure)
