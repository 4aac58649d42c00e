"""Somebody who types `exclave` at a shell: through pipes, or at a terminal."""

import asyncio
import contextlib
import json
import os
import pty
import signal
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from temporalio import activity

from contracts.logs import READ_LOG, LogPage, ReadLog
from tests.workflows.workflow_site import FakeWorker

ROOT = Path(__file__).resolve().parents[3]
PATIENCE_SECONDS = 60
"""Far more than any command needs, even on a busy machine."""


@dataclass
class Typed:
    """A command that has ended."""

    status: int
    out: str
    err: str

    @property
    def documents(self) -> list[Any]:
        return [json.loads(line) for line in self.out.splitlines()]

    @property
    def document(self) -> Any:
        [one] = self.documents
        return one


@dataclass
class Running:
    """A running command, and what it has written so far."""

    process: asyncio.subprocess.Process
    out: str = ""
    err: str = ""
    _news: asyncio.Event = field(default_factory=asyncio.Event)

    async def until(self, part: str) -> None:
        """Wait until it has written this text, to either stream."""
        async with asyncio.timeout(PATIENCE_SECONDS):
            while part not in self.out + self.err:
                self._news.clear()
                await self._news.wait()

    async def end(self) -> Typed:
        async with asyncio.timeout(PATIENCE_SECONDS):
            status = await self.process.wait()
            for task in self.readers:
                await task
        return Typed(status, self.out, self.err)

    def interrupt(self) -> None:
        self.process.send_signal(signal.SIGINT)

    def read(self) -> None:
        assert self.process.stdout is not None
        assert self.process.stderr is not None
        self.readers = [
            asyncio.create_task(self._read("out", self.process.stdout)),
            asyncio.create_task(self._read("err", self.process.stderr)),
        ]

    async def _read(self, name: str, stream: asyncio.StreamReader) -> None:
        while data := await stream.read(65536):
            setattr(self, name, getattr(self, name) + data.decode())
            self._news.set()


class Screen:
    """A terminal on which a command runs."""

    def __init__(self, process: asyncio.subprocess.Process, descriptor: int) -> None:
        self.text = ""
        self._process = process
        self._descriptor = descriptor
        self._news = asyncio.Event()
        asyncio.get_running_loop().add_reader(descriptor, self._read)

    def _read(self) -> None:
        try:
            data = os.read(self._descriptor, 65536)
        except OSError:
            data = b""
        if not data:
            asyncio.get_running_loop().remove_reader(self._descriptor)
        self.text += data.decode(errors="replace")
        self._news.set()

    async def until(self, part: str, *, times: int = 1) -> None:
        async with asyncio.timeout(PATIENCE_SECONDS):
            while self.text.count(part) < times:
                self._news.clear()
                await self._news.wait()

    def type(self, text: str) -> None:
        os.write(self._descriptor, text.encode())

    def interrupt(self) -> None:
        self._process.send_signal(signal.SIGINT)

    async def end(self) -> int:
        async with asyncio.timeout(PATIENCE_SECONDS):
            return await self._process.wait()

    def close(self) -> None:
        asyncio.get_running_loop().remove_reader(self._descriptor)
        os.close(self._descriptor)
        with contextlib.suppress(ProcessLookupError):
            self._process.kill()


class Person:
    """Types commands, which use the Temporal server at the address."""

    def __init__(self, address: str, home: Path) -> None:
        kept = {name: os.environ[name] for name in ("PATH", "LANG") if name in os.environ}
        self.environment = {
            **kept,
            "HOME": str(home),
            "USER": "ann",
            "TERM": "xterm",
            "COLUMNS": "200",
            "TEMPORAL_ADDRESS": address,
            "TEMPORAL_NAMESPACE": "dev",
        }
        self.home = home

    @asynccontextmanager
    async def begins(self, *arguments: str) -> AsyncIterator[Running]:
        """Start a command; it is killed at the end if it is still running."""
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "exclave", *arguments),
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            env={**self.environment, "PYTHONPATH": str(ROOT)},
            cwd=self.home,
            limit=2**24,
        )
        running = Running(process)
        running.read()
        try:
            yield running
        finally:
            with contextlib.suppress(ProcessLookupError):
                process.kill()
            await running.end()

    async def types(self, *arguments: str) -> Typed:
        """Run a command to its end."""
        async with self.begins(*arguments) as running:
            return await running.end()

    @asynccontextmanager
    async def sits_before(self, *arguments: str) -> AsyncIterator[Screen]:
        """Run a command at a terminal."""
        ours, theirs = pty.openpty()
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "exclave", *arguments),
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            env={**self.environment, "PYTHONPATH": str(ROOT)},
            cwd=self.home,
            start_new_session=True,
        )
        os.close(theirs)
        screen = Screen(process, ours)
        try:
            yield screen
        finally:
            screen.close()
            await process.wait()


class LoggingWorker(FakeWorker):
    """An install worker that also serves logs, in pieces, by key."""

    def __init__(self) -> None:
        super().__init__()
        self.logs: dict[str, list[str]] = {}
        """Pieces of a log, by a part of the key, for example `net/plan`."""

    @activity.defn(name=READ_LOG.name)
    async def read_log(self, input: ReadLog) -> LogPage:
        pieces = next((log for part, log in self.logs.items() if part in input.key), [])
        left = pieces[input.position :]
        return LogPage(
            text=left[0] if left else "",
            position=input.position + len(left[:1]),
            ended=len(left) < 2,
        )

    def activities(self) -> list[Callable[..., Any]]:
        return [*super().activities(), self.read_log]
