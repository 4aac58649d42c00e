"""A subject's locks on this machine, the run that holds them, and how that run is followed.

    driver.lock      held by the coroutine that works on the subject, in whichever worker process
    supervisor.lock  held by the supervisor of the running tool
    tree.lock        held by the tool's tree of processes
    current.json     the run that holds the latter two, or held them last

A tool whose supervisor was killed keeps running. The attempt that waits for it then takes over the
supervisor's work: it enforces the deadline, and stops the tool when the lease is lost.
"""

import asyncio
import json
import logging
import signal
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from activities.operations.file_lock import is_held
from activities.operations.leftovers import log_leftovers
from activities.operations.locks import wait_free
from activities.operations.log_bound import LogKeeper
from activities.operations.processes import send
from activities.operations.spec import INTERRUPT_FILE, SPEC_FILE
from activities.operations.status import Reason, Status, ToolEnd, end_of, grace_for_leftovers
from activities.operations.steady_clock import steady
from activities.operations.termination import Termination
from store.files import replace_private
from wire.private_files import write_private

_log = logging.getLogger(__name__)

_LOOK_AGAIN_SECONDS: Final = 0.5
"""How often a tool without a supervisor is checked: has it ended, and left processes behind?"""

_FIRST: Final = asyncio.FIRST_COMPLETED
_CURRENT: Final = "current.json"
_DRIVER_LOCK: Final = "driver.lock"
_WHY: Final[dict[Reason, str]] = {
    "timed_out": "the tool did not end in time",
    "interrupted": "the tool was interrupted on request",
    "lease_lost": "the lease was lost, so another machine may work on the same subject",
}


@dataclass(frozen=True)
class CurrentRun:
    """The run that a subject's locks belong to."""

    key: str
    label: str
    folder: Path


def subjects_at_work(folder: Path) -> list[str]:
    """The subjects below the folder that some process of this machine holds locks of; blocks."""
    places = (lock.parent for lock in sorted(folder.rglob(_DRIVER_LOCK)))
    named = (Subject(place.relative_to(folder).as_posix(), place) for place in places)
    return [one.name for one in named if is_held(one.driver_lock) or one.is_busy()]


class Subject:
    """The locks of one subject on this machine, in a folder for that subject."""

    def __init__(self, name: str, folder: Path) -> None:
        self.name = name
        self.folder = folder
        self.driver_lock = folder / _DRIVER_LOCK
        self.supervisor_lock = folder / "supervisor.lock"
        self.tree_lock = folder / "tree.lock"

    def is_busy(self) -> bool:
        """Whether a supervisor or a tool's process is alive."""
        return is_held(self.supervisor_lock) or is_held(self.tree_lock)

    def current(self) -> CurrentRun | None:
        """The run that holds the locks or held them last."""
        try:
            raw = json.loads((self.folder / _CURRENT).read_bytes())
        except FileNotFoundError:
            return None
        return CurrentRun(raw["key"], raw["label"], Path(raw["folder"]))

    def set_current(self, run: CurrentRun) -> None:
        """Records which run the locks belong to, before its supervisor starts."""
        raw = {"key": run.key, "label": run.label, "folder": str(run.folder)}
        incoming = self.folder / f".{_CURRENT}"
        replace_private(self.folder / _CURRENT, json.dumps(raw).encode(), incoming)

    async def follow(self, folder: Path, lease_lost: asyncio.Event) -> ToolEnd | None:
        """Waits until no process of the run in `folder` is left, and returns how it ended.

        Returns None if its tool was never started. Cancelling the wait leaves the tool running.
        """
        await wait_free(self.supervisor_lock)
        if is_held(self.tree_lock):
            await self._follow_orphan(folder, lease_lost)
        (folder / SPEC_FILE).unlink(missing_ok=True)
        return end_of(folder)

    async def interrupt(self, folder: Path) -> None:
        """Interrupts the run in `folder`, if it is alive, and waits until its tree is gone."""
        # The file reaches a supervisor that is just starting, the signal one that is running.
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
        """Waits until the tree is gone, or returns why the tool must be interrupted before that.

        Once the tool itself has ended, leftover processes get a grace period and are then ended.
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
        # They are ended even if the log cannot be written.
        with suppress(OSError):
            await asyncio.to_thread(log_leftovers, folder, self.tree_lock, None)
        steps = Termination(self.tree_lock, 0, status.terminate_seconds, None, status.leaders())
        while not gone.done():
            await asyncio.wait({gone}, timeout=await asyncio.to_thread(steps.step))

    async def _interrupt_orphan(self, folder: Path, reason: Reason) -> None:
        """Terminates a tool without a supervisor, until no process of its tree is left."""
        status = Status.load(folder) or Status.unknown()
        begun = status.interruption is not None
        if not begun and grace_for_leftovers(status, folder) is not None:
            # The tool itself has ended: only leftover processes remain.
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
        # On a second request to stop, Terraform exits without writing its state.
        main = running.process if running and not begun else None
        steps = Termination(
            self.tree_lock, status.grace_seconds, status.terminate_seconds, main, status.leaders()
        )
        gone = asyncio.ensure_future(wait_free(self.tree_lock))
        try:
            await asyncio.wait({gone}, timeout=status.grace_seconds if begun else 0)
            while not gone.done():
                await asyncio.wait({gone}, timeout=await asyncio.to_thread(steps.step))
        finally:
            gone.cancel()
