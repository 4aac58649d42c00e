"""What the Install workflow asks about runs: which ones are open, and when one ends."""

from collections.abc import AsyncIterator
from contextlib import suppress
from datetime import timedelta
from typing import Any

from temporalio import activity
from temporalio.client import (
    Client,
    WorkflowContinuedAsNewError,
    WorkflowFailureError,
    WorkflowHandle,
    WorkflowQueryFailedError,
)
from temporalio.service import RPCError, RPCStatusCode

from activities.heartbeats import heartbeating
from contracts import installs
from contracts.errors import Unreachable
from contracts.installs import OpenRun, OpenRuns, OpenRunsInput, RunTurn, WatchRunInput
from contracts.messages import Nothing

_KINDS_WITH_TURN = ("provision", "deploy", "deprovision")
"""Actions take no turn."""

_OPEN = "ExecutionStatus = 'Running'"

_QUERY_TIMEOUT = timedelta(seconds=10)


class InstallRuns:
    """Runs on the control worker, which may read the namespace."""

    def __init__(self, client: Client) -> None:
        self._client = client

    @activity.defn(name=installs.OPEN_RUNS.name)
    async def open_runs(self, input: OpenRunsInput) -> OpenRuns:
        """The install's open runs, oldest first: whether each has or wants the turn."""
        async with heartbeating() as say:
            runs: list[OpenRun] = []
            async for workflow_id, run_id in self._open(input.install):
                say(f"asks {workflow_id} for its turn")
                turn = await self._turn_of(workflow_id, run_id)
                if turn is not None:
                    runs.append(
                        OpenRun(
                            workflow_id=workflow_id,
                            run_id=run_id,
                            turn=turn.turn,
                            wants=turn.wants,
                            release=turn.release,
                        )
                    )
            runs.reverse()
            return OpenRuns(runs=runs)

    async def _open(self, install: str) -> AsyncIterator[tuple[str, str]]:
        """The open runs, newest first as visibility lists them, with one query: Temporal limits
        how many visibility queries it answers."""
        named = [f"WorkflowId STARTS_WITH '{kind}/{install}/'" for kind in _KINDS_WITH_TURN]
        query = f"({' OR '.join(named)}) AND {_OPEN}"
        async for execution in self._client.list_workflows(query):
            yield execution.id, execution.run_id

    async def _turn_of(self, workflow_id: str, run_id: str) -> RunTurn | None:
        """The run's answer; None if it has ended meanwhile, or has not begun yet."""
        handle = self._client.get_workflow_handle(workflow_id, run_id=run_id)
        try:
            turn: RunTurn = await handle.query(
                "turn", result_type=RunTurn, rpc_timeout=_QUERY_TIMEOUT
            )
            return turn
        except WorkflowQueryFailedError as error:
            raise Unreachable(
                f"{workflow_id} does not say whether it has the turn: {error}"
            ) from None
        except RPCError as error:
            if error.status == RPCStatusCode.NOT_FOUND or not await self._has_begun(handle):
                return None
            raise Unreachable(
                f"{workflow_id} does not say whether it has the turn: {error}"
            ) from None

    async def _has_begun(self, handle: WorkflowHandle[Any, Any]) -> bool:
        """A run whose start is delayed cannot be queried; its history holds only its start."""
        try:
            return (await handle.describe()).history_length > 1
        except RPCError as error:
            return error.status != RPCStatusCode.NOT_FOUND

    @activity.defn(name=installs.WATCH_RUN.name)
    async def watch_run(self, input: WatchRunInput) -> Nothing:
        """Return when the run has ended, in whatever way."""
        async with heartbeating() as say:
            say(f"waits for the end of {input.workflow_id}")
            handle = self._client.get_workflow_handle(
                input.workflow_id, run_id=input.run_id or None
            )
            try:
                # A failure is an end too.
                with suppress(WorkflowFailureError, WorkflowContinuedAsNewError):
                    await handle.result(follow_runs=False)
            except RPCError as error:
                if error.status != RPCStatusCode.NOT_FOUND:
                    raise Unreachable(f"Cannot watch {input.workflow_id}: {error}") from None
            return Nothing()
