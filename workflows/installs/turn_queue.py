"""The Install workflow's side of the turn: who holds it, who waits, who is next."""

import asyncio

from temporalio import workflow
from temporalio.exceptions import ActivityError, ApplicationError, is_cancelled_exception

from apps.display_text import shown_markdown
from contracts import installs
from contracts.deploys import Grant, Inputs
from contracts.installs import CarriedInstall, Holder, OpenRun, TurnEnd, TurnRequest, WatchRunInput
from contracts.messages import Turn
from contracts.names import CONTROL_QUEUE, Name
from workflows.calls import call

_LOOK_AGAIN_SECONDS = 60.0
"""How long to wait after watching the holder failed."""


class TurnQueue:
    """Grants the turn to one run at a time, in the order in which they asked."""

    def __init__(self, app: Name, carried: CarriedInstall) -> None:
        self._app = app
        self._last = carried.last_turn
        self.holder: Holder | None = carried.holder
        self.waiting: list[TurnRequest] = list(carried.queue)
        self._watched: Holder | None = None
        self._watch: asyncio.Task[None] | None = None

    @property
    def last(self) -> int:
        """The number of the newest turn."""
        return self._last

    @property
    def is_free(self) -> bool:
        """Whether a run that starts now would get the turn at once."""
        return self.holder is None and not self.waiting

    def reserve(self, workflow_id: str) -> Turn:
        """Give the turn to a run that is about to start."""
        self._last = max(self._last + 1, int(workflow.now().timestamp() * 1000))
        turn = Turn(number=self._last, workflow_id=workflow_id)
        self.holder = Holder(turn=turn, run_id="")
        return turn

    def started(self, turn: Turn, run_id: str) -> None:
        """The run that the turn was reserved for has started."""
        if self.holder is not None and self.holder.turn == turn:
            self.holder = Holder(turn=turn, run_id=run_id)

    def request(self, request: TurnRequest) -> None:
        """Put a run at the end of the queue; a second request of the same run changes nothing.

        Another run with the holder's workflow id waits like any other: the holder is then watched,
        and turns out to have ended.
        """
        holds = (
            self.holder is not None
            and self.holder.turn.workflow_id == request.workflow_id
            and self.holder.run_id == request.run_id
        )
        # Older runs send less about themselves, so only the ids show whether a run waits already.
        if not holds and all(one.run_id != request.run_id for one in self.waiting):
            self.waiting.append(request)

    def end(self, end: TurnEnd) -> None:
        """A run has ended: free its turn, or take it out of the queue."""
        self.waiting = [one for one in self.waiting if one.run_id != end.run_id]
        if self.holder is not None and (
            # A run may end before its grant has reached it.
            self.holder.turn == end.turn or self.holder.run_id == end.run_id
        ):
            self.holder = None

    def withdraw(self, turn: Turn) -> None:
        """The run that the turn was reserved for did not start."""
        if self.holder is not None and self.holder.turn == turn:
            self.holder = None

    def adopt(self, runs: list[OpenRun]) -> None:
        """Take over what an earlier Install workflow left: the holder, and the runs that wait."""
        for run in runs:
            if run.turn is not None:
                self._last = max(self._last, run.turn.number)
                if self.holder is None or self.holder.turn.number < run.turn.number:
                    self.holder = Holder(turn=run.turn, run_id=run.run_id)
            elif run.wants:
                self.request(
                    TurnRequest(workflow_id=run.workflow_id, run_id=run.run_id, release=run.release)
                )

    @property
    def has_work(self) -> bool:
        """Whether `advance` would do something."""
        if not self.waiting:
            return False
        # A holder without a run id is about to start: there is nothing to watch yet.
        return self.holder is None or (self.holder.run_id != "" and self.holder != self._watched)

    async def advance(self, inputs: Inputs, schedules: list[str]) -> None:
        """Grant a free turn to the next run; while a run waits, watch whether the holder lives."""
        if self.holder is None:
            await self._grant_next(inputs, schedules)
        elif self.has_work:
            self.stop_watching()
            self._watched = self.holder
            self._watch = asyncio.create_task(self._watch_holder(self.holder))

    async def _grant_next(self, inputs: Inputs, schedules: list[str]) -> None:
        request = self.waiting.pop(0)
        turn = self.reserve(request.workflow_id)
        self.started(turn, request.run_id)
        run = workflow.get_external_workflow_handle(request.workflow_id, run_id=request.run_id)
        try:
            grant = Grant(turn=turn, app=self._app, inputs=inputs, schedules=schedules)
            await run.signal("grant_turn", grant)
        except ApplicationError as error:
            workflow.logger.info("%s is gone; the next run is up: %s", request.workflow_id, error)
            self.withdraw(turn)

    async def _watch_holder(self, holder: Holder) -> None:
        """Free the turn when its run has ended: a terminated run sends no signal."""
        look = WatchRunInput(workflow_id=holder.turn.workflow_id, run_id=holder.run_id)
        summary = f"waits for the end of {shown_markdown(look.workflow_id)}"
        while True:
            try:
                await call(installs.WATCH_RUN, look, queue=CONTROL_QUEUE, summary=summary)
                break
            except ActivityError as error:
                if is_cancelled_exception(error):
                    # By `stop_watching`.
                    raise asyncio.CancelledError from error
                workflow.logger.warning("Cannot watch %s: %s", look.workflow_id, error)
                await asyncio.sleep(_LOOK_AGAIN_SECONDS)
        if self.holder == holder:
            self.holder = None

    def stop_watching(self) -> None:
        """Stop watching: nobody waits, the holder has ended, or Install continues as new."""
        if self._watch is not None:
            self._watch.cancel()
        self._watch = self._watched = None

    @property
    def should_stop_watching(self) -> bool:
        """Whether there is no reason any more to watch the holder."""
        return self._watched is not None and (
            not self.waiting or self.holder is None or self.holder != self._watched
        )
