"""Histories of workflows: read from a server, replayed against the code, recorded for later."""

import gzip
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

from temporalio.api.enums.v1 import EventType
from temporalio.client import Client, WorkflowHandle, WorkflowHistory
from temporalio.converter import DataConverter
from temporalio.worker import Replayer

from wire.arguments import ArgumentCount
from wire.conversion import data_converter
from workers.control import SANDBOX, WORKFLOWS

GENERATIONS = Path(__file__).parent / "workflows" / "histories"
RECORDED = GENERATIONS / "3"
"""Raise the number when workflows change: what was recorded before is kept, and must replay."""

_DECIDED = EventType.EVENT_TYPE_WORKFLOW_TASK_COMPLETED
_ATTEMPTS = 3


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
    assert _has_decided(history), "the replay would hang"
    failure = await _failure(_replayer(), history)
    if failure is not None:
        raise failure


async def replay_all(client: Client) -> int:
    """Replay every run that the server holds, open or closed, but those that decided nothing yet.

    Returns:
        How many.

    Raises:
        ExceptionGroup: those that would be stuck as soon as they are not in memory any more.
    """
    # Payloads are read as that client reads them: their keys are of its namespace.
    replayer = _replayer(client.data_converter, client.namespace)
    failures = [await _failure(replayer, history) async for history in _decided_runs(client)]
    found = [failure for failure in failures if failure is not None]
    if found:
        raise ExceptionGroup("runs that do not replay", found)
    return len(failures)


async def _failure(replayer: Replayer, history: WorkflowHistory) -> Exception | None:
    """Why a history does not replay, each time that it is tried; None where it does.

    The SDK's replayer (1.35) itself failed at two of 1,378 histories on a busy machine: it did not
    tell the workflow of a patch's marker. Both then replayed thirty times out of thirty.
    """
    failure: Exception | None = None
    for _ in range(_ATTEMPTS):
        result = await replayer.replay_workflow(history, raise_on_replay_failure=False)
        failure = result.replay_failure
        if failure is None:
            break
    if failure is not None:
        last_events = "\n".join(str(event) for event in history.events[-12:])
        failure.add_note(f"{history.workflow_id}, its last events:\n{last_events}")
    return failure


async def _decided_runs(client: Client) -> AsyncIterator[WorkflowHistory]:
    async for run in client.list_workflows():
        history = await client.get_workflow_handle(run.id, run_id=run.run_id).fetch_history()
        if _has_decided(history):
            yield history


def _has_decided(history: WorkflowHistory) -> bool:
    return any(event.event_type == _DECIDED for event in history.events)


def _replayer(converter: DataConverter = data_converter, namespace: str = "dev") -> Replayer:
    return Replayer(
        workflows=WORKFLOWS,
        workflow_runner=SANDBOX,
        namespace=namespace,
        data_converter=converter,
        interceptors=[ArgumentCount()],
    )


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
