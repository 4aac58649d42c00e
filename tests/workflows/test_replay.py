"""The recorded histories of every workflow type and kind of end replay against the code.

A change that fails here would break every run of that kind that is open while it is rolled out: put
it behind `workflow.patched`. New histories are recorded by
`pytest tests/e2e/test_every_history.py tests/gateway/enrolment/test_access_watch.py
tests/workflows/test_cancelled_runs.py tests/workflows/test_deploy_approvals.py --record-histories`;
those of code that is no more are kept.
"""

from pathlib import Path

import pytest
from temporalio.workflow import NondeterminismError

from tests.workflow_histories import GENERATIONS, RECORDED, read, replay

ALL = sorted(GENERATIONS.glob("*/*.json.gz"))
"""By the generation that recorded them: what is open while a newer one is rolled out."""

KINDS = {
    *("build-good", "build-failed", "build-cancelled"),
    *("install-first-run", "install-continued", "install-failed", "install-cancelled"),
    *("deploy-good", "deploy-denied", "deploy-cancelled-in-apply", "deploy-retried"),
    *("deploy-failed", "unknown"),
    # From before a cancel counted whatever it met, and since; see `workflows.calls`.
    *("deploy-cancel-lost", "deploy-cancel-kept"),
    # From before views went past the run: it has shown more pages than one may now.
    "deploy-viewed",
    *("action-good", "action-failed", "action-cancelled"),
    *("provision-good", "provision-denied", "deploy-rollback", "deprovision-good"),
    *("access-first-run", "access-continued"),
}
"""Of the newest generation."""


def _name(path: Path) -> str:
    return f"{path.parent.name}/{path.name.removesuffix('.json.gz')}"


def test_every_kind_is_recorded() -> None:
    assert {path.name.removesuffix(".json.gz") for path in RECORDED.iterdir()} == KINDS


def test_the_newest_generation_is_the_one_that_is_recorded() -> None:
    assert max(GENERATIONS.iterdir(), key=lambda folder: int(folder.name)) == RECORDED


def test_no_local_activity_is_run_any_more() -> None:
    """See workflows.calls.call_control: with updates beside them their histories do not replay."""
    for path in RECORDED.iterdir():
        markers = [event.marker_recorded_event_attributes for event in read(path).events]
        assert "core_local_activity" not in [one.marker_name for one in markers], path.name


@pytest.mark.parametrize("path", ALL, ids=_name)
async def test_a_recorded_history_replays(path: Path) -> None:
    await replay(read(path))


async def test_a_history_of_other_decisions_does_not_replay() -> None:
    history = read(RECORDED / "action-good.json.gz")
    scheduled = [event.activity_task_scheduled_event_attributes for event in history.events]
    for attributes in scheduled:
        if attributes.activity_type.name:
            attributes.activity_type.name = "another"
    with pytest.raises(NondeterminismError):
        await replay(history)
