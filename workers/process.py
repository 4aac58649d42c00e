"""The life of a worker process: connect, work, drain on the first signal, exit.

The first SIGTERM, SIGINT or SIGQUIT drains: the worker takes no new work, and lets running work
end, however long its tool needs. The second one interrupts the tools and waits for them. A pause
also drains, and then waits until it ends. If the SDK stops polling, the worker lets running work
end, and the same process polls again, with a new credential.
"""

import asyncio
import logging
import os
import signal
import sys
from collections.abc import Awaitable, Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta
from typing import NoReturn, TypeVar

from temporalio.client import Client
from temporalio.runtime import LogForwardingConfig, LoggingConfig, Runtime, TelemetryConfig
from temporalio.worker import Worker

from wire.connection import TemporalAddress, connect, delays
from wire.encryption.keys import Keys
from workers.log_lines import WordlessExceptions
from workers.readiness import announce_ready

_log = logging.getLogger(__name__)

DRAIN_TIMEOUT = timedelta(days=1)
"""A drain never stops a tool that is applying; the tool's own timeout limits it."""

_LAST_RESULTS_SECONDS = 30.0
"""After the second signal: how long to go on sending results that the control plane has not
accepted yet."""

_WORKED_SECONDS = 60.0
"""After working for so long, the delays between attempts to poll start from the first again."""

_PAUSE_CHECK_SECONDS = 2.0
"""How often to check for a pause, which is a file and announces nothing."""

SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGQUIT)

Make = Callable[[Client], Worker]
T = TypeVar("T")


async def nothing() -> None:
    """Wait for nothing."""


@dataclass(frozen=True)
class Settings:
    """What differs between workers."""

    before: Callable[[], Awaitable[None]] = nothing
    """Waits for everything that the worker needs besides the control plane."""
    keys: Callable[[], Keys | None] = lambda: None
    """The payload keys, called after `before`; without keys, payloads are plain."""
    interrupt: Callable[[], Awaitable[None]] | None = None
    """Interrupts the tools of this process and waits for them; called at the second signal."""
    connected: Callable[[Client], Awaitable[None]] | None = None
    """Called once when connected, runs beside the work: sends something to the control plane."""
    after: Callable[[], Awaitable[None]] = nothing
    """Called when no work is left, before the process ends."""
    leaves_within_seconds: float | None = None
    """How long the drain of a worker without tools may take. Then the worker exits anyway, and its
    work goes on elsewhere. None waits for as long as tools need."""
    paused: Callable[[], bool] = lambda: False
    """Whether the worker should take no work for now; called regularly."""


def run(where: TemporalAddress, make: Make, settings: Settings) -> None:
    """Run a worker until a signal ends it; never returns.

    Args:
        where: The control plane; waited for if it does not answer.
        make: Builds the worker on a connected client.
        settings: What differs between workers.
    """
    lines = logging.StreamHandler(sys.stderr)
    lines.setFormatter(
        WordlessExceptions(f"%(asctime)s %(levelname)s {where.namespace} %(name)s: %(message)s")
    )
    logging.basicConfig(level=logging.INFO, handlers=[lines])
    # They log each request, and that a drain may take a day; this module logs what matters itself.
    for chatty in ("httpx", "temporalio.worker._worker"):
        logging.getLogger(chatty).setLevel(logging.WARNING)
    _forward_native_logs()
    status = asyncio.run(_Life(where, make, settings).live())
    _leave(status)


def _leave(status: int) -> NoReturn:
    # On 3.11, interpreter shutdown crashed in the SDK's native threads, so skip it.
    logging.shutdown()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(status)


def _forward_native_logs() -> None:
    """Format the log of the SDK's native part like ours, since it has ids that others chose."""
    forwarding = LogForwardingConfig(logging.getLogger("temporalio.core"))
    forwarded = LoggingConfig(filter=LoggingConfig.default.filter, forwarding=forwarding)
    Runtime.set_default(Runtime(telemetry=TelemetryConfig(logging=forwarded)))


class _NoWork(Exception):
    """The SDK has stopped polling; the message is the control plane's reason."""


def _is_refusal(error: RuntimeError) -> bool:
    """Whether the control plane refused, so that this process is not at fault."""
    words = _innermost(error)
    return words.startswith(("Poll failure", "Worker validation failed"))


def _innermost(error: BaseException) -> str:
    while error.__cause__ is not None:
        error = error.__cause__
    return str(error)


class _Life:
    def __init__(self, where: TemporalAddress, make: Make, settings: Settings) -> None:
        self._where = where
        self._make = make
        self._settings = settings
        self._paused = settings.paused
        self._leave = asyncio.Event()
        self._in_vain = asyncio.Event()
        self._on_connect: asyncio.Future[None] | None = None
        self._delays: Iterator[float] = delays()
        self._interrupting: asyncio.Task[None] | None = None
        self._left_work = False

    async def live(self) -> int:
        """Run to the end, and return the exit status."""
        try:
            status = await self._live()
        finally:
            await self._settings.after()
        if self._left_work:
            # Otherwise the end of the event loop would wait for that work.
            _leave(status)
        return status

    async def _live(self) -> int:
        loop = asyncio.get_running_loop()
        for number in SIGNALS:
            loop.add_signal_handler(number, self._on_signal, signal.Signals(number).name)
        await self._unless_leaving(self._settings.before())
        if self._leave.is_set():
            return 0
        keys = self._settings.keys()
        clients: tuple[Client, Client] | None = None
        while True:
            if self._paused():
                announce_ready()
                _log.info("Paused on this machine: no work is taken until it is resumed.")
                await self._unless_leaving(self._until(False))
            if self._leave.is_set():
                return 0
            # A worker that ended by a refusal may never release its clients.
            clients = clients or await self._unless_leaving(self._connected(keys))
            if clients is None:
                return 0
            client, patient = clients
            if self._settings.connected is not None and self._on_connect is None:
                self._on_connect = asyncio.ensure_future(self._settings.connected(patient))
            worker = self._make(client)
            # Building a worker limits its client to 10 s of retries; results need longer ones.
            worker.client = patient
            began = loop.time()
            try:
                await self._work(worker)
            except _NoWork as error:
                clients = None
                if loop.time() - began > _WORKED_SECONDS:
                    self._delays = delays()
                await self._unless_leaving(self._before_asking_again(error))
            except Exception as error:
                _log.error("The worker ended: %s", error)
                return 1
            if self._leave.is_set():
                return 0

    async def _connected(self, keys: Keys | None) -> tuple[Client, Client]:
        """The client to build a worker on, and the one that it then works with."""
        return (
            await connect(self._where, keys),
            await connect(self._where, keys, patient=True),
        )

    async def _before_asking_again(self, error: "_NoWork") -> None:
        """Wait before polling again, since the worker would only be refused again at once."""
        delay = next(self._delays)
        _log.warning(
            "%s no longer answers this worker, which starts polling again in %.0f s: %s",
            self._where.address,
            delay,
            error,
        )
        await asyncio.sleep(delay)
        if self._where.credential is not None:
            await self._where.credential.renew()

    async def _until(self, paused: bool) -> None:
        """Wait until the worker is paused, or until it is not."""
        while self._paused() is not paused:  # noqa: ASYNC110 - a file announces nothing
            await asyncio.sleep(_PAUSE_CHECK_SECONDS)

    async def _work(self, worker: Worker) -> None:
        """Work until a signal or a pause comes.

        Raises:
            _NoWork: the control plane refuses to give out work.
        """
        working = asyncio.create_task(worker.run())
        stopping: list[asyncio.Task[object]] = [
            asyncio.create_task(self._leave.wait()),
            asyncio.create_task(self._until(True)),
        ]
        announce_ready()
        _log.info("Working on the queue %s at %s.", worker.task_queue, self._where.address)
        await asyncio.wait({working, *stopping}, return_when=asyncio.FIRST_COMPLETED)
        if not working.done():
            _log.info("Draining: running work may end; no new work is taken.")
            stopping += [
                asyncio.create_task(worker.shutdown()),
                asyncio.create_task(self._in_vain.wait()),
            ]
            await asyncio.wait(
                {working, stopping[-1]},
                return_when=asyncio.FIRST_COMPLETED,
                timeout=self._settings.leaves_within_seconds,
            )
        for task in stopping:
            task.cancel()
        if not working.done() and not self._in_vain.is_set():
            # For example a run whose workflow tasks keep failing.
            _log.warning("Leaving with unfinished work; it goes on elsewhere, or later.")
            self._left_work = True
            return
        if not working.done():
            _log.warning(
                "Leaving, though %s has not accepted every result: each operation's outcome is in "
                "its journal, where the next attempt finds it.",
                self._where.address,
            )
            return
        try:
            await working
        except RuntimeError as error:
            if not _is_refusal(error):
                raise
            raise _NoWork(_innermost(error)) from error
        _log.info("Done; nothing is left running.")

    async def _unless_leaving(self, waiting: Awaitable[T]) -> T | None:
        """Wait, unless a signal ends the wait."""
        task = asyncio.ensure_future(waiting)
        leaving = asyncio.create_task(self._leave.wait())
        await asyncio.wait({task, leaving}, return_when=asyncio.FIRST_COMPLETED)
        leaving.cancel()
        if task.done():
            return task.result()
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task
        return None

    def _on_signal(self, name: str) -> None:
        if not self._leave.is_set():
            _log.info("%s: leaving.", name)
            self._leave.set()
        elif self._interrupting is None:
            if self._settings.interrupt is not None:
                _log.warning("%s again: interrupting the tools, and waiting for them.", name)
            self._interrupting = asyncio.ensure_future(self._hurry())
        else:
            _log.info("%s: already leaving.", name)

    async def _hurry(self) -> None:
        """Interrupt the tools, and wait a little for their results to be accepted."""
        if self._settings.interrupt is not None:
            await self._settings.interrupt()
        await asyncio.sleep(_LAST_RESULTS_SECONDS)
        self._in_vain.set()
