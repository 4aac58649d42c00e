"""What a deploy writes into Temporal's histories: events and bytes, as the server counts them.

An app with one component and an app with eleven are deployed, each in three ways: every component
is planned, approved and applied; every component is planned, with nothing to change; every
component is skipped, since nothing changed. The figure for a component is a tenth of the
difference. Components that run together share workflow tasks, so one alone adds more events.

There is no goal. The server ends a run at 51,200 events or 50 MB.
"""

import argparse
from dataclasses import dataclass
from typing import Any

from temporalio.client import Client, WorkflowHandle

from bench.configs import EMPTY, NOTHING
from bench.report import Report
from bench.running import main
from bench.testbed import Install, Testbed
from contracts.deploys import DeployResult

_MANY = 11


@dataclass(frozen=True)
class _Size:
    """The size of a history."""

    events: int
    size: int
    """Bytes."""

    def __sub__(self, other: "_Size") -> "_Size":
        return _Size(self.events - other.events, self.size - other.size)


@dataclass(frozen=True)
class _Way:
    """What happens to all components of a deploy."""

    outcome: str
    words: str
    body: str
    """The body of their modules."""
    is_changed: bool
    """Whether their variable gets another value first."""


_WAYS = [
    _Way("applied", "planned, approved and applied", EMPTY, is_changed=True),
    _Way("unchanged", "planned, nothing to change", NOTHING, is_changed=True),
    _Way("skipped", "skipped", EMPTY, is_changed=False),
]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """No arguments: the figures are the same every time, except for a workflow task or two."""


async def measure(bed: Testbed, settings: argparse.Namespace) -> Report:
    del settings
    client = await bed.connect()
    report = Report("Events and bytes of history")
    for way in _WAYS:
        one = await _deployed(bed, client, way, 1)
        many = await _deployed(bed, client, way, _MANY)
        added = many.deploy - one.deploy
        report.add(f"a component {way.words}", added.events / (_MANY - 1), "events")
        report.add("  in bytes", added.size / (_MANY - 1), "bytes")
        if way.outcome == "skipped":
            _add(report, "a Deploy with one component that is skipped", one.deploy)
            _add(report, "what this Deploy adds to its Install's history", one.install)
    return report


def _add(report: Report, name: str, size: _Size) -> None:
    report.add(name, size.events, "events")
    report.add("  in bytes", size.size, "bytes")


@dataclass(frozen=True)
class _Written:
    """What one deploy wrote."""

    deploy: _Size
    install: _Size
    """What the deploy added to its Install's history."""


async def _deployed(bed: Testbed, client: Client, way: _Way, count: int) -> _Written:
    names = [f"component{number}" for number in range(count)]
    name = f"history-{way.outcome}-{count}"
    install = await bed.install(client, name, dict.fromkeys(names, way.body))
    first = await install.deploy_approved(plans=count if way.body == EMPTY else 0)
    await first.result()
    if way.is_changed:
        await install.set_rounds(names, "another")
    before = await _settled(install)
    run = await install.deploy_approved(plans=count if way.outcome == "applied" else 0)
    _require(way, await run.result())
    written = _Written(await _size(run), await _settled(install) - before)
    # Six more workers would disturb the later measurements.
    install.worker.stop()
    return written


def _require(way: _Way, result: DeployResult) -> None:
    if any(one.outcome != way.outcome for one in result.components):
        raise RuntimeError(f"every component should be {way.outcome}: {result}")


async def _settled(install: Install) -> _Size:
    """The size of Install's history, once Install has handled all messages."""
    await install.status()
    return await _size(install.workflow)


async def _size(workflow: WorkflowHandle[Any, Any]) -> _Size:
    found = (await workflow.describe()).raw_description.workflow_execution_info
    return _Size(found.history_length, found.history_size_bytes)


if __name__ == "__main__":
    main("bench.history_size", __doc__, add_arguments, measure)
