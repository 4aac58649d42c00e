"""`operation.log`: the output of an operation's tools, a page at a time, without secrets.

It masks what is known to be secret now, and what was known when the tools ran. A secret that a tool
creates in an apply that is still running is masked once its engine can find it, in a state or a
plan.
"""

import asyncio

from temporalio import activity

from activities.heartbeats import heartbeating
from activities.logs.printed import Piece, Printed
from activities.operations.spec import OUTPUT_FILE
from activities.secrets.known import mask_of_operation
from activities.workplace import Workplace
from contracts import logs
from contracts.errors import BadInput, NotThere
from contracts.logs import LOG_PAGE_BYTES, LogPage, ReadLog
from store.journal import Entry, Journal
from store.object_keys import check_key, is_key

LONGEST_WAIT_SECONDS = 30.0

_LOOK_AGAIN_SECONDS = 0.2
"""How often the file with a tool's output is checked; nothing signals that it has grown."""

_LEAST_SLASHES = 2
"""The least number of slashes in an operation's key: run, part, verb."""


class LogActivities:
    """Runs on the install worker, which keeps what tools print."""

    def __init__(self, workplace: Workplace) -> None:
        self._workplace = workplace

    @activity.defn(name=logs.READ_LOG.name)
    async def read(self, input: ReadLog) -> LogPage:
        """A page of the tools' output; waits for new output if the input says so.

        Raises:
            NotThere: nothing was begun under the key, or it was dropped since.
            BadInput: the key or the position is not valid.
        """
        is_operation = is_key(input.key) and input.key.count("/") >= _LEAST_SLASHES
        if not is_operation or input.position < 0:
            raise BadInput(
                f"{input.key!r} at {input.position} is not a position in an operation's log."
            )
        time = asyncio.get_running_loop().time
        until = time() + min(input.wait_seconds, LONGEST_WAIT_SECONDS)
        seen = -1
        async with heartbeating():
            while True:
                printed, has_ended = await asyncio.to_thread(self._printed, input.key)
                if has_ended or printed.size != seen:
                    page = await asyncio.to_thread(self._page, input, printed, has_ended)
                    seen = printed.size
                if page.text or page.ended or time() >= until:
                    return page
                await asyncio.sleep(_LOOK_AGAIN_SECONDS)

    def _printed(self, key: str) -> tuple[Printed, bool]:
        """The output so far, and whether the operation had already ended when it was read."""
        entry = Journal(self._workplace.store).entry(check_key(key))
        if entry is None:
            raise NotThere(f"Nothing was begun under {key}, or its record was dropped since.")
        return Printed(self._pieces(key, entry)), entry.outcome is not None

    def _page(self, input: ReadLog, printed: Printed, has_ended: bool) -> LogPage:
        start = input.position
        nothing = LogPage(text="", position=start, ended=has_ended and start >= printed.size)
        end = printed.size if has_ended else printed.whole_lines(LOG_PAGE_BYTES)
        if end <= start:
            return nothing
        mask = mask_of_operation(self._workplace, input.key)
        gap = printed.gap_at(start, mask)
        if gap is not None:
            is_last = has_ended and gap.end >= printed.size
            known = gap.is_over or has_ended
            return LogPage(text=gap.words, position=gap.end, ended=is_last) if known else nothing
        if not has_ended:
            end = printed.settled(end, mask)
        end = min(end, printed.gap_after(start, mask))
        if end <= start:
            return nothing
        end = printed.page_end(start, end, LOG_PAGE_BYTES)
        text = printed.masked(start, end, mask)
        later = printed.again()
        if later.gap_at(start, mask) or later.gap_after(start, mask) < end:
            # Output was dropped while it was being read, so the page may hold half of a secret.
            return self._page(input, later, has_ended)
        return LogPage(text=text, position=end, ended=has_ended and end >= printed.size)

    def _pieces(self, key: str, entry: Entry) -> list[Piece]:
        """A heading for each run, followed by its output if that is on this machine."""
        found: list[Piece] = []
        for run in entry.runs:
            folder = self._workplace.data / "runs" / key / f"{run.number}-{run.label}"
            heading = f"-- {run.label} (run {run.number})"
            if run.machine != self._workplace.operations.machine.id:
                found.append(Piece(f"{heading}: it ran on another machine, which keeps its output"))
            elif not folder.is_dir():
                found.append(Piece(f"{heading}: its output is no longer kept"))
            else:
                found.append(Piece(heading, folder / OUTPUT_FILE))
        return found
