"""Histories of workflows: read from a server, replayed against the code, recorded for later."""

import gzip
import json
from pathlib import Path
from typing import Any

from temporalio.api.enums.v1 import EventType
from temporalio.client import WorkflowHandle, WorkflowHistory
from temporalio.worker import Replayer
from temporalio.workflow import NondeterminismError

from wire.arguments import ArgumentCount
from wire.conversion import data_converter
from workers.control import SANDBOX, WORKFLOWS

GENERATIONS = Path(__file__).parent / "workflows" / "histories"
RECORDED = GENERATIONS / "3"
"""Raise the number when workflows change: what was recorded before is kept, and must replay."""

_DECIDED = EventType.EVENT_TYPE_WORKFLOW_TASK_COMPLETED


async def history_of(handle: WorkflowHandle[Any, Any]) -> WorkflowHistory:
    """The history of a run that has decided something, waited for where it has not yet.

    A run that was continued as new within a second of the beginning of the one before it is held
    back by the server until that second is over. Its history is one event long till then, and the
    SDK's replayer (1.35) waits for ever for the rest of such a one.
    """
    async for event in handle.fetch_history_events(wait_new_event=True):
        if event.event_type == _DECIDED:
            return await handle.fetch_history()
    raise AssertionError(f"{handle.id} ended before it decided anything")


async def replay(history: WorkflowHistory) -> None:
    """Replay a history against the workflows as they are.

    Raises:
        NondeterminismError: its run would be stuck; with the last events as a note.
    """
    assert any(event.event_type == _DECIDED for event in history.events), "the replay would hang"
    replayer = Replayer(
        workflows=WORKFLOWS,
        workflow_runner=SANDBOX,
        data_converter=data_converter,
        interceptors=[ArgumentCount()],
    )
    try:
        await replayer.replay_workflow(history)
    except NondeterminismError as error:
        error.add_note("\n".join(str(event) for event in history.events[-12:]))
        raise


def record(name: str, history: WorkflowHistory) -> None:
    """Keep a history, for tests/workflows/test_replay.py."""
    RECORDED.mkdir(exist_ok=True, parents=True)
    told = _without_stacks(history.to_json_dict())
    content = json.dumps({"id": history.workflow_id, "history": told})
    (RECORDED / f"{name}.json.gz").write_bytes(gzip.compress(content.encode(), mtime=0))


def read(path: Path) -> WorkflowHistory:
    """One that was kept."""
    recorded = json.loads(gzip.decompress(path.read_bytes()))
    return WorkflowHistory.from_json(recorded["id"], recorded["history"])


def _without_stacks(value: object) -> object:
    """Stack traces name the folders of the machine that recorded them, and replay needs none."""
    if isinstance(value, dict):
        return {k: _without_stacks(item) for k, item in value.items() if k != "stackTrace"}
    return [_without_stacks(item) for item in value] if isinstance(value, list) else value
