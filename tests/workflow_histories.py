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
    assert _has_decided(history), "the replay would hang"
    try:
        await _replayer().replay_workflow(history)
    except NondeterminismError as error:
        error.add_note(_end_of(history))
        raise


async def replay_all(client: Client) -> int:
    """Replay every run that the server holds, open or closed, but those that decided nothing yet.

    On a busy machine the SDK's replayer (1.35) itself fails at one history in a thousand, of any
    that has a patch: the workflow is not told of the marker. The same history then replays thirty
    times out of thirty, so a failure counts if it comes again each time.

    Returns:
        How many.

    Raises:
        ExceptionGroup: those that would be stuck as soon as they are not in memory any more.
    """
    replayed, faults = 0, []
    replayer = _replayer_of(client)
    async with replayer.workflow_replay_iterator(_decided_runs(client)) as results:
        async for result in results:
            replayed += 1
            if result.replay_failure is not None and not await _replays(result.history, client):
                told = f"{result.history.workflow_id}: {_end_of(result.history)}"
                result.replay_failure.add_note(told)
                faults.append(result.replay_failure)
    if faults:
        raise ExceptionGroup("runs that do not replay", faults)
    return replayed


async def _replays(history: WorkflowHistory, client: Client) -> bool:
    """Whether it does, of three times that it is replayed alone."""
    for _ in range(3):
        replayer = _replayer_of(client)
        result = await replayer.replay_workflow(history, raise_on_replay_failure=False)
        if result.replay_failure is None:
            return True
    return False


async def _decided_runs(client: Client) -> AsyncIterator[WorkflowHistory]:
    async for run in client.list_workflows():
        history = await client.get_workflow_handle(run.id, run_id=run.run_id).fetch_history()
        if _has_decided(history):
            yield history


def _has_decided(history: WorkflowHistory) -> bool:
    return any(event.event_type == _DECIDED for event in history.events)


def _end_of(history: WorkflowHistory) -> str:
    return "\n".join(str(event) for event in history.events[-12:])


def _replayer_of(client: Client) -> Replayer:
    """Reads payloads as that client does: their keys are of its namespace."""
    return _replayer(client.data_converter, client.namespace)


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
