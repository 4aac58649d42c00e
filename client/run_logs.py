"""The operations of a run, and what their tools printed."""

import asyncio
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from apps.parts import part_shown
from client.control_plane import ControlPlane
from client.following import Following, history_of
from client.history import WORKING, Work
from contracts import operations
from contracts.logs import FEATURE_LOGS, READ_LOG, LogPage, ReadLog
from contracts.names import install_queue

_WAIT_SECONDS = 20.0
"""How long the worker waits for new output before it answers that there is none."""


@dataclass(frozen=True)
class Operation:
    """Work for which a tool was started, once for each key."""

    install: str
    key: str
    subject: str
    """The component, or the action."""
    work: Work
    """The activity in the run's history; updated while the history is followed."""

    @property
    def name(self) -> str:
        """As the Temporal UI shows it."""
        return self.work.name

    def is_of(self, name: str) -> bool:
        """Whether the operation belongs to the component or the action of this name."""
        return name in {self.subject, part_shown(self.subject)}


def operation_of(work: Work) -> Operation | None:
    """The activity as an operation; None if it is not one."""
    key, install = work.input.get("key"), work.input.get("install")
    subject = work.input.get("component") or work.input.get("action")
    if work.type == operations.STOP.name or not (key and install and subject):
        return None
    return Operation(str(install), str(key), str(subject), work)


Write = Callable[[Operation, str], None]
"""Takes a piece of an operation's log."""


@dataclass(frozen=True)
class Reader:
    """Reads the logs of one run and of the actions that it started."""

    plane: ControlPlane
    wanted: Callable[[Operation], bool]
    write: Write

    async def read(self, run: str, run_id: str = "") -> int:
        """Read the existing logs, one operation after the other; returns how many there were.

        Raises:
            Away: the install's worker does not answer.
        """
        count = 0
        for work in (await history_of(self.plane, run, run_id)).works:
            if work.run_id:
                count += await self.read(work.id, work.run_id)
            elif (operation := operation_of(work)) and self.wanted(operation):
                await self._read(operation, wait=False)
                count += 1
        return count

    async def follow(self, run: str, run_id: str = "") -> int:
        """Read the logs of all operations concurrently until the run ends; returns how many.

        Raises:
            Away: the install's worker does not answer.
        """
        reading: dict[int, asyncio.Task[int]] = {}
        following = Following(self.plane, run, run_id)
        try:
            async for _ in following.snapshots():
                for number, work in enumerate(following.history.works):
                    # A child run can only be read once it has started.
                    if number not in reading and (work.run_id or not work.is_run):
                        reading[number] = asyncio.create_task(self._follow(work))
                _raise_first(reading.values())
            return sum(await asyncio.gather(*reading.values()))
        finally:
            for task in reading.values():
                task.cancel()

    async def _follow(self, work: Work) -> int:
        if work.is_run:
            return await self.follow(work.id, work.run_id)
        operation = operation_of(work)
        if operation is None or not self.wanted(operation):
            return 0
        await self._read(operation, wait=True)
        return 1

    async def _read(self, operation: Operation, *, wait: bool) -> None:
        position = 0
        while True:
            waits = wait and operation.work.state == WORKING
            page = await self._page(operation, position, _WAIT_SECONDS if waits else 0.0)
            if page.text:
                self.write(operation, page.text)
            # If the tool was never started, the worker can report no end.
            if page.ended or not (page.text or waits):
                return
            position = page.position

    async def _page(self, operation: Operation, position: int, wait_seconds: float) -> LogPage:
        asked = ReadLog(
            requires=[FEATURE_LOGS],
            install=operation.install,
            key=operation.key,
            position=position,
            wait_seconds=wait_seconds,
        )
        whose = f"The install worker of {operation.install}, which keeps the logs,"
        return await self.plane.do(
            READ_LOG, asked, queue=install_queue(operation.install), whose=whose
        )


def _raise_first(tasks: Iterable["asyncio.Task[int]"]) -> None:
    """Raise what one of them failed with."""
    for task in tasks:
        if task.done():
            task.result()
