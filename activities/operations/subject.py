"""A subject's place on this machine: its locks, which run has them, and how a run is followed.

    driver.lock      the coroutine that works on the subject, of whichever worker process
    supervisor.lock  the supervisor of the running tool
    tree.lock        the tool's tree of processes
    current.json     the run that has, or had last, the latter two

A tool whose supervisor was killed goes on. Who waits for it then does the supervisor's work: it
enforces the deadline and, through its own lease keeper, stops the tool when the lease is lost.
"""

import asyncio
import json
import logging
import signal
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from activities.operations.leftovers import tell_of_leftovers
from activities.operations.locks import is_held, wait_free
from activities.operations.log_bound import LogKeeper
from activities.operations.processes import send
from activities.operations.spec import INTERRUPT_FILE, SPEC_FILE
from activities.operations.status import Reason, Status, ToolEnd, end_of, grace_for_leftovers
from activities.operations.steady_clock import steady
from activities.operations.termination import Ladder
from store.files import replace_private
from wire.private_files import write_private

_log = logging.getLogger(__name__)

_LOOK_AGAIN_SECONDS: Final = 0.5
"""How often it is asked whether a tool without its supervisor has ended, and left something."""

_FIRST: Final = asyncio.FIRST_COMPLETED
_CURRENT: Final = "current.json"
_DRIVER_LOCK: Final = "driver.lock"
_WHY: Final[dict[Reason, str]] = {
    "timed_out": "the tool did not end in time",
    "interrupted": "the tool was interrupted on request",
    "lease_lost": "the lease was lost, so another machine may work on the same",
}


@dataclass(frozen=True)
class CurrentRun:
    """The run that a subject's locks belong to."""

    key: str
    label: str
    folder: Path


def subjects_at_work(folder: Path) -> list[str]:
    """The subjects below the folder whose locks any process of this machine holds; blocks."""
    places = (lock.parent for lock in sorted(folder.rglob(_DRIVER_LOCK)))
    named = (Subject(place.relative_to(folder).as_posix(), place) for place in places)
    return [one.name for one in named if is_held(one.driver_lock) or one.is_busy()]


class Subject:
    """The locks of one subject on this machine, in a folder of theirs."""

    def __init__(self, name: str, folder: Path) -> None:
        self.name = name
        self.folder = folder
        self.driver_lock = folder / _DRIVER_LOCK
        self.supervisor_lock = folder / "supervisor.lock"
        self.tree_lock = folder / "tree.lock"

    def is_busy(self) -> bool:
        """Whether a supervisor or a process of a tool is alive."""
        return is_held(self.supervisor_lock) or is_held(self.tree_lock)

    def current(self) -> CurrentRun | None:
        """The run that has the locks or had them last."""
        try:
            raw = json.loads((self.folder / _CURRENT).read_bytes())
        except FileNotFoundError:
            return None
        return CurrentRun(raw["key"], raw["label"], Path(raw["folder"]))

    def set_current(self, run: CurrentRun) -> None:
        """Notes whose the locks are, before its supervisor starts."""
        raw = {"key": run.key, "label": run.label, "folder": str(run.folder)}
        incoming = self.folder / f".{_CURRENT}"
        replace_private(self.folder / _CURRENT, json.dumps(raw).encode(), incoming)

    async def follow(self, folder: Path, lease_lost: asyncio.Event) -> ToolEnd | None:
        """Waits until no process of the run in `folder` is left, and returns how it ended.

        Returns None if its tool was never started. Leaving earlier leaves the tool running.
        """
        await wait_free(self.supervisor_lock)
        if is_held(self.tree_lock):
            await self._follow_orphan(folder, lease_lost)
        (folder / SPEC_FILE).unlink(missing_ok=True)
        return end_of(folder)

    async def interrupt(self, folder: Path) -> None:
        """Interrupts the run in `folder`, if it is alive, and waits until its tree is gone."""
        # The file reaches a supervisor that is just starting, the signal one that runs.
        write_private(folder / INTERRUPT_FILE, b"")
        status = Status.load(folder)
        if status and status.supervisor and is_held(self.supervisor_lock):
            send(status.supervisor, signal.SIGTERM)
        await wait_free(self.supervisor_lock)
        if is_held(self.tree_lock):
            await self._interrupt_orphan(folder, "interrupted")

    async def _follow_orphan(self, folder: Path, lease_lost: asyncio.Event) -> None:
        log = LogKeeper(folder)
        log.start(_log.warning)
        try:
            await self._keep_to_limits(folder, lease_lost)
        finally:
            log.end(is_over=False)

    async def _keep_to_limits(self, folder: Path, lease_lost: asyncio.Event) -> None:
        status = Status.load(folder)
        if status and status.interruption:
            await self._interrupt_orphan(folder, status.interruption)
        elif (folder / INTERRUPT_FILE).exists():
            await self._interrupt_orphan(folder, "interrupted")
        else:
            reason = await self._until_gone(folder, lease_lost, status)
            if reason:
                await self._interrupt_orphan(folder, reason)

    async def _until_gone(
        self, folder: Path, lease_lost: asyncio.Event, status: Status | None
    ) -> Reason | None:
        """Waits for the tree to be gone; returns why the tool must be interrupted before.

        Once the tool itself has ended, what it left is ended after a grace.
        """
        gone = asyncio.ensure_future(wait_free(self.tree_lock))
        lost = asyncio.ensure_future(lease_lost.wait())
        try:
            while True:
                left = max(0.0, status.deadline - steady()) if status else _LOOK_AGAIN_SECONDS
                pause = min(left, _LOOK_AGAIN_SECONDS)
                await asyncio.wait({gone, lost}, timeout=pause, return_when=_FIRST)
                if gone.done():
                    return None
                grace = await asyncio.to_thread(grace_for_leftovers, status, folder)
                if status and grace is not None:
                    await asyncio.wait({gone, lost}, timeout=grace, return_when=_FIRST)
                    await self._end_leftovers(folder, status, gone)
                    return None
                if lost.done():
                    return "lease_lost"
                if status and left <= _LOOK_AGAIN_SECONDS:
                    return "timed_out"
        finally:
            gone.cancel()
            lost.cancel()

    async def _end_leftovers(
        self, folder: Path, status: Status, gone: "asyncio.Future[None]"
    ) -> None:
        if gone.done():
            return
        # A log that cannot be written is no reason to leave them there.
        with suppress(OSError):
            await asyncio.to_thread(tell_of_leftovers, folder, self.tree_lock, None)
        ladder = Ladder(self.tree_lock, 0, status.terminate_seconds, None, status.leaders())
        while not gone.done():
            await asyncio.wait({gone}, timeout=await asyncio.to_thread(ladder.step))

    async def _interrupt_orphan(self, folder: Path, reason: Reason) -> None:
        """Takes the steps of the ladder from here, until no process of the tree is left."""
        status = Status.load(folder) or Status.unknown()
        begun = status.interruption is not None
        if not begun and grace_for_leftovers(status, folder) is not None:
            # What it left is all that there is to interrupt.
            gone = asyncio.ensure_future(wait_free(self.tree_lock))
            try:
                await self._end_leftovers(folder, status, gone)
            finally:
                gone.cancel()
            return
        if not begun:
            status.interruption = reason
            status.message = f"{_WHY[reason]}; its supervisor had been killed"
            status.save(folder)
        running = status.running()
        # Asked to stop a second time, Terraform leaves without writing its state.
        main = running.process if running and not begun else None
        ladder = Ladder(
            self.tree_lock, status.grace_seconds, status.terminate_seconds, main, status.leaders()
        )
        gone = asyncio.ensure_future(wait_free(self.tree_lock))
        try:
            await asyncio.wait({gone}, timeout=status.grace_seconds if begun else 0)
            while not gone.done():
                await asyncio.wait({gone}, timeout=await asyncio.to_thread(ladder.step))
        finally:
            gone.cancel()
