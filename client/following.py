"""Follows a run: yields a snapshot whenever something happened, or after a quiet while.

The history is long-polled: the server answers once there is an event. After that the run itself is
asked (queries `progress` and `waiting`). An outage of the control plane is reported and waited out,
since the run survives it.
"""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import Any, Literal

from temporalio import exceptions
from temporalio.api.enums.v1 import PendingActivityState
from temporalio.api.workflow.v1 import PendingActivityInfo
from temporalio.client import (
    WorkflowExecutionDescription,
    WorkflowFailureError,
    WorkflowHistoryEventAsyncIterator,
)
from temporalio.service import RPCError

from client.control_plane import ControlPlane
from client.errors import Away, Refused
from client.history import WORKING, History, failure_words, heartbeat_words
from client.refusals import ANSWER, is_outage
from client.stuck import why_stuck
from contracts.deploys import Progress, Waiting, WaitingPlan
from contracts.names import owner_of

QUIET_SECONDS = 5.0
"""After so long without an event, the pending activities' heartbeats are read."""
_AGAIN_SECONDS = 1.0
_REPORTS_PROGRESS = frozenset({"provision", "deploy", "deprovision"})
"""Runs that answer the query `progress`; for others, their activities are the progress."""

How = Literal["done", "failed", "cancelled", "terminated", "timed out"]


@dataclass(frozen=True)
class Part:
    """How far the run has come with a part of the install (a component, the sandbox) or a step."""

    name: str
    state: str
    words: str = ""


@dataclass(frozen=True)
class End:
    """How a run ended."""

    how: How
    message: str = ""
    result: Any = None
    """The workflow's result, as JSON holds it."""


@dataclass
class Snapshot:
    """A snapshot of a run."""

    doing: str = ""
    parts: list[Part] = field(default_factory=list)
    plans: list[WaitingPlan] = field(default_factory=list)
    """The plans that wait for an approval."""
    notes: dict[str, str] = field(default_factory=dict)
    """After a quiet while: what pending work says about itself, by its name."""
    trouble: str = ""
    """Why less is known than usual."""
    end: End | None = None

    @property
    def is_held_up(self) -> bool:
        """Whether plans wait for a person's decision and nothing else is running."""
        return bool(self.plans) and not any(part.state == WORKING for part in self.parts)


class Following:
    """Follows one run to its end."""

    def __init__(self, plane: ControlPlane, workflow_id: str, run_id: str = "") -> None:
        self.workflow_id = workflow_id
        self.history = History()
        self._plane = plane
        self._run_id = run_id
        self._handle = plane.run(workflow_id, run_id or None)
        self._events = self._from_the_start()
        self._page: asyncio.Task[None] | None = None
        self._last = Snapshot()
        self._unasked = False
        """The history had news, but the run could not be asked then."""

    async def snapshots(self) -> AsyncIterator[Snapshot]:
        """Yields snapshots of the run; the last one has its end.

        Raises:
            NoSuchRun: there is no such run.
        """
        try:
            while True:
                self._last = await self._snapshot(await self._news())
                yield self._last
                if self._last.end is not None:
                    return
        finally:
            if self._page is not None:
                self._page.cancel()

    def _go_on_with(self, run_id: str) -> None:
        """Follow the run that this one continued as."""
        self._run_id = run_id
        self._handle = self._plane.run(self.workflow_id, run_id)
        self.history = History()
        self._events = self._from_the_start()

    def _from_the_start(self) -> WorkflowHistoryEventAsyncIterator:
        return self._handle.fetch_history_events(wait_new_event=True)

    async def _news(self) -> bool | str:
        """Whether something happened (False: a quiet while has passed), or why that is unknown."""
        if self._page is None:
            self._page = asyncio.ensure_future(self._events.fetch_next_page())
        done, _ = await asyncio.wait({self._page}, timeout=QUIET_SECONDS)
        if not done:
            return False
        page, self._page = self._page, None
        try:
            page.result()
        except RPCError as error:
            if not is_outage(error):
                raise await self._plane.refusals.of_call(error, self.workflow_id) from error
            self._events = self._from_the_start()
            await asyncio.sleep(_AGAIN_SECONDS)
            return f"Temporal at {self._plane.where.address} does not answer; waiting for it."
        page_read = [await self._plane.plain_text(one) for one in self._events.current_page or []]
        news = self.history.take(page_read)
        if self.history.continued_by:
            self._go_on_with(self.history.continued_by)
        return news

    async def _snapshot(self, news: bool | str) -> Snapshot:
        if isinstance(news, str):
            return self._again(trouble=news)
        if not news and not self._unasked:
            return await self._quiet()
        snapshot = await self._ask()
        if self.history.closed:
            snapshot.end = await self._end()
        return snapshot

    def _again(self, **changes: Any) -> Snapshot:
        """The previous snapshot, with changes."""
        return Snapshot(
            doing=self._last.doing, parts=self._last.parts, plans=self._last.plans, **changes
        )

    async def _ask(self) -> Snapshot:
        owner = owner_of(self.workflow_id)
        if owner is None or owner[0] not in _REPORTS_PROGRESS:
            return Snapshot(
                parts=[Part(one.name, one.state, one.words) for one in self.history.works]
            )
        self._unasked = False
        try:
            ask = self._plane.ask
            progress = await ask(self.workflow_id, "progress", Progress, self._run_id)
            waiting = Waiting(waits_for="nothing")
            if not self.history.closed:
                waiting = await ask(self.workflow_id, "waiting", Waiting, self._run_id)
        except (Away, Refused) as error:
            # Its next event may be far away: ask again without waiting for one.
            self._unasked = True
            silent = f"{self.workflow_id} does not answer now, and is asked again."
            return self._again(trouble=silent if isinstance(error, Away) else error.message)
        parts = [Part(one.component, one.state, one.words) for one in progress.parts]
        return Snapshot(doing=progress.doing, parts=parts, plans=waiting.plans)

    async def _quiet(self) -> Snapshot:
        """A snapshot after a quiet while: what pending work says, and whether the run is stuck."""
        try:
            described = await self._handle.describe(rpc_timeout=ANSWER)
            stuck = await why_stuck(self._plane.client, described)
        except RPCError:
            return self._again()
        return self._again(notes=await self._notes(described), trouble=stuck)

    async def _notes(self, described: WorkflowExecutionDescription) -> dict[str, str]:
        works = {one.id: one for one in self.history.works if not one.is_run}
        description = await self._plane.plain_text(described.raw_description)
        return {
            works[one.activity_id].name: words
            for one in description.pending_activities
            if one.activity_id in works
            and (words := _pending_words(one, works[one.activity_id].queue))
        }

    async def _end(self) -> End:
        while True:
            try:
                return End("done", result=await self._handle.result(follow_runs=False))
            except WorkflowFailureError as error:
                return _end_of(error.cause)
            except RPCError as error:
                if not is_outage(error):
                    raise
                await asyncio.sleep(_AGAIN_SECONDS)


def _end_of(cause: BaseException) -> End:
    match cause:
        case exceptions.ApplicationError():
            return End("failed", cause.message)
        case exceptions.CancelledError():
            return End("cancelled", "It was cancelled.")
        case exceptions.TerminatedError():
            return End("terminated", f"It was terminated: {cause}")
        case exceptions.TimeoutError():
            return End("timed out", "It ran out of the time that it was started with.")
        case _:
            return End("failed", str(cause))


def _pending_words(pending: PendingActivityInfo, queue: str) -> str:
    if pending.attempt > 1 and pending.HasField("last_failure"):
        return f"attempt {pending.attempt}; the one before: {failure_words(pending.last_failure)}"
    if pending.state == PendingActivityState.PENDING_ACTIVITY_STATE_SCHEDULED:
        kind, _, install = queue.partition(".")
        return (
            f"waits for the install worker of {install}"
            if install
            else f"waits for a {kind} worker"
        )
    return heartbeat_words(pending.heartbeat_details)


async def history_of(plane: ControlPlane, workflow_id: str, run_id: str = "") -> History:
    """The history of a run as it is now.

    Raises:
        NoSuchRun: there is no such run.
        Away: Temporal does not answer.
    """
    history = History()
    try:
        async for event in plane.run(workflow_id, run_id or None).fetch_history_events():
            history.take([await plane.plain_text(event)])
    except RPCError as error:
        raise await plane.refusals.of_call(error, workflow_id) from error
    return history
