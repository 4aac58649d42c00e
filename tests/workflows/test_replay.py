"""The recorded histories of every workflow type and kind of end replay against the code.

A change that fails here would break every run of that kind that is open while it is rolled out: put
it behind `workflow.patched`. New histories are recorded by
`pytest tests/e2e/test_every_history.py tests/gateway/test_access_watch.py --record-histories`.
"""

import gzip
import json
from pathlib import Path

import pytest
from temporalio.client import WorkflowHistory
from temporalio.worker import Replayer

from wire.arguments import ArgumentCount
from wire.conversion import data_converter
from workers.control import SANDBOX, WORKFLOWS

HISTORIES = Path(__file__).parent / "histories"
RECORDED = sorted(HISTORIES.glob("*/*.json.gz"))
"""By the generation that recorded them: what is open while a newer one is rolled out."""

KINDS = {
    *("build-good", "build-failed", "build-cancelled"),
    *("install-first-run", "install-continued", "install-failed", "install-cancelled"),
    *("deploy-good", "deploy-denied", "deploy-cancelled-in-apply", "deploy-retried"),
    *("deploy-failed", "unknown"),
    *("action-good", "action-failed", "action-cancelled"),
    *("provision-good", "provision-denied", "deploy-rollback", "deprovision-good"),
    *("access-first-run", "access-continued"),
}
"""Of the newest generation."""


def _name(path: Path) -> str:
    return f"{path.parent.name}/{path.name.removesuffix('.json.gz')}"


def test_every_kind_is_recorded() -> None:
    newest = max(HISTORIES.iterdir(), key=lambda folder: int(folder.name))
    assert {path.name.removesuffix(".json.gz") for path in newest.iterdir()} == KINDS


def test_no_local_activity_is_run_any_more() -> None:
    """See workflows.calls.call_control: with updates beside them their histories do not replay."""
    newest = max(HISTORIES.iterdir(), key=lambda folder: int(folder.name))
    for path in newest.iterdir():
        events = json.loads(gzip.decompress(path.read_bytes()))["history"]["events"]
        markers = [event.get("markerRecordedEventAttributes", {}) for event in events]
        assert "core_local_activity" not in [one.get("markerName") for one in markers], path.name


@pytest.mark.parametrize("path", RECORDED, ids=_name)
async def test_a_recorded_history_replays(path: Path) -> None:
    recorded = json.loads(gzip.decompress(path.read_bytes()))
    replayer = Replayer(
        workflows=WORKFLOWS,
        workflow_runner=SANDBOX,
        data_converter=data_converter,
        interceptors=[ArgumentCount()],
    )
    await replayer.replay_workflow(WorkflowHistory.from_json(recorded["id"], recorded["history"]))
