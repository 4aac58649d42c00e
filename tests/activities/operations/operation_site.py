"""A data folder, a store, and operations on them with real tools."""

import asyncio
import os
from collections.abc import Callable
from pathlib import Path

from activities.operations.file_lock import is_held
from activities.operations.opening import Operations
from activities.operations.processes import Process, is_alive
from activities.operations.spec import Command, LeaseTerms, ToolRun
from activities.operations.status import Status
from store.folder import FolderStore
from store.leases import Leases
from store.machine import Machine
from store.opening import folder_description

KEY = "run-1/vpc/apply/0"
SUBJECT = "acme/vpc"


async def until(condition: Callable[[], bool]) -> None:
    """Polls, since what another process does cannot be awaited."""
    async with asyncio.timeout(30):
        while not condition():
            await asyncio.sleep(0.02)


class Site:
    """One install on this machine, as its workers see it."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.data = root / "data"
        self.marks = root / "marks"
        self.marks.mkdir()
        self.store = FolderStore(root / "store")
        self.machine = Machine.here(self.data)
        self.by_person = False
        self.said: list[str] = []
        self.locks = self.data / "work-locks" / SUBJECT

    def operations(self, terms: LeaseTerms | None = None) -> Operations:
        return Operations(
            self.store,
            folder_description(self.store.root),
            self.data,
            self.machine,
            cancelled_by_person=self._by_person,
            terms=terms,
        )

    async def _by_person(self) -> bool:
        return self.by_person

    def leases(self, machine: Machine, seconds: float = 90) -> Leases:
        return Leases(self.store, machine, seconds=seconds)

    def say(self, text: str) -> None:
        self.said.append(text)

    def shell(
        self, script: str, timeout: float = 60, grace: float = 20, terminate: float = 10
    ) -> ToolRun:
        """A run of a shell script, in the folder where it may leave files as marks."""
        return ToolRun(
            [Command("script", ["/bin/bash", "-c", script])],
            self.marks,
            {"PATH": os.environ["PATH"]},
            timeout,
            grace,
            terminate,
        )

    def marked(self, name: str) -> bool:
        return (self.marks / name).exists()

    async def mark(self, name: str) -> None:
        await until(lambda: self.marked(name))

    def status(self, run: str, key: str = KEY) -> Status:
        status = Status.load(self.data / "runs" / key / run)
        assert status is not None
        return status

    def supervisor(self, run: str) -> Process:
        supervisor = self.status(run).supervisor
        assert supervisor is not None
        return supervisor

    async def tool(self, run: str) -> Process:
        """The run's first command, once it is started."""
        await until(lambda: self.status(run).commands[0].process is not None)
        process = self.status(run).commands[0].process
        assert process is not None
        return process

    def tree_lives(self) -> bool:
        return is_held(self.locks / "tree.lock")

    async def gone(self, process: Process) -> None:
        await until(lambda: not is_alive(process))
