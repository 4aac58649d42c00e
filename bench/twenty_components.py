"""An app of twenty components against the engine time of its longest chain.

Five rows of four; each component comes after two of the row above it, so the longest chain has
five. Each has one resource with some seconds of work. A deploy plans, asks for, and applies all
twenty, on one install worker; it is measured from its start to its end, by the server's clock. Each
plan is approved at once by a client that the history tells of it; what that takes is in the
deploy's time.

The critical path is the chain that ended last, walked back from its end. Its own engine time is the
time in which its Terraforms ran, `init`, `plan`, `show`, `apply` and `output`, as they did in this
very deploy: beside those of the other components. So the ratio tells what Exclave adds: its own
work, the approvals, and the way from one component to the next.

For comparison, without a goal: the modules of such a chain by hand, the same commands one after the
other with nothing else on the machine. Against that, the ratio also holds what it costs that up to
four Terraforms share the machine's processors.
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
    """One deploy; seconds. All but the first are of the chain that ended last."""

    whole: float
    engine: float
    """In which its Terraforms ran."""
    activities: float
    """Of its plans and applies, from scheduled to completed."""
    approvals: float
    """From planned to the apply's being scheduled."""

    @property
    def added(self) -> float:
        """Within the activities, beside the Terraforms."""
        return self.activities - self.engine

    @property
    def between(self) -> float:
        """Outside the activities: turn, scope, from one component to the next, finish."""
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
    """The components that each other waited for, from the one that was applied last backwards."""
    chain = [max(applies, key=lambda name: applies[name].completed)]
    while chain[-1] in _DEPENDENCIES:
        chain.append(max(_DEPENDENCIES[chain[-1]], key=lambda name: applies[name].completed))
    return chain


def _report(settings: argparse.Namespace, ours: list[_Deployed], by_hand: float) -> Report:
    report = Report(
        f"Twenty components in chains of five, {settings.chain_seconds:g} s of work in each"
    )
    whole = report.median("Exclave, all twenty", [one.whole for one in ours], "s")
    engine = report.median("  the last chain's Terraforms", [one.engine for one in ours], "s")
    report.median("  added to them in its plans and applies", [one.added for one in ours], "s")
    report.median("  until its plans were approved", [one.approvals for one in ours], "s")
    report.median("  everything else", [one.between for one in ours], "s")
    report.ratio("Exclave against its critical path's engine time", whole, engine, GOAL)
    alone = report.add("a chain of five by hand, alone on the machine", by_hand, "s")
    report.ratio("Exclave against that", whole, alone)
    return report


if __name__ == "__main__":
    main("bench.twenty_components", __doc__, add_arguments, measure)
