"""Puts a state in place that an apply could not write, or was killed while writing."""

import asyncio
import logging
from pathlib import Path

from activities.once import Say
from activities.operations.operation import Operation
from activities.operations.spec import SNAPSHOT_FILE
from activities.operations.status import ToolEnd, end_of
from activities.terraform import commands
from activities.terraform.commands import APPLYING
from activities.terraform.locking import StateLocks
from activities.terraform.state_file import StateFile, rescue_printed
from apps.parts import part_shown
from contracts.engines import ERRORED_STATE
from store.errors import Conflict

_log = logging.getLogger(__name__)


async def make_whole(
    state: StateFile, folder: Path, operation: Operation, locks: StateLocks, say: Say
) -> None:
    """Repair the state that the part's newest apply left, whichever operation that belonged to."""
    newest = operation.newest_of_subject
    apply = newest.folder if newest is not None and newest.label == APPLYING else None
    if apply is not None:
        await asyncio.to_thread(rescue_printed, folder, apply)
    await _take_errored(state, folder, apply, locks, say)
    file = state.backend.file_in_place
    if file is None or not await asyncio.to_thread(file.exists):
        return
    end = await asyncio.to_thread(end_of, apply) if apply is not None else None
    if end is not None:
        await put_back(state, end, locks, say)
    if await asyncio.to_thread(state.content) == b"":
        await locks.wait_until_free(say)
        await asyncio.to_thread(state.drop_untouched)


async def put_back(state: StateFile, end: ToolEnd, locks: StateLocks, say: Say) -> None:
    """Put back the newest complete version of a state that an apply was killed while writing.

    Terraform truncates its local state before it writes it, and may be killed in between.
    """
    # Only if its death was seen: otherwise it may have gone on and written more than is known here.
    # In a bucket a state is written as a whole, so if it is missing there, a person removed it.
    seen = end.label == APPLYING and end.exits.get(commands.APPLY, 0) < 0
    if (
        not seen
        or state.backend.file_in_place is None
        or await asyncio.to_thread(state.read) is not None
    ):
        return
    # A person's own Terraform may be writing the state right now.
    await locks.wait_until_free(say)
    if await asyncio.to_thread(state.restore, end.folder / SNAPSHOT_FILE):
        _log.warning(
            "%s: Terraform was killed while it wrote its state; the newest complete version was "
            "put back, and changes that were in progress are planned again",
            part_shown(state.part),
        )


async def _take_errored(
    state: StateFile, folder: Path, apply: Path | None, locks: StateLocks, say: Say
) -> None:
    """Put a state that an apply could not write in place, while nobody else works on the state."""

    def take() -> None:
        with locks.hold("puts a state in place that could not be written"):
            state.take_errored(folder, apply)

    while (folder / ERRORED_STATE).exists():
        await locks.wait_until_free(say)
        say("puts the state in place that an apply could not write")
        try:
            await asyncio.to_thread(take)
        except Conflict:
            say("somebody else took the state's lock first")
