"""The life of a worker process: connect, work, drain on the first signal, leave.

The first SIGTERM, SIGINT or SIGQUIT drains: no new work is taken, and what runs may end, however
long its tool needs. The second one interrupts the tools and waits for them. A pause drains, too,
and then waits for its end. Where the SDK gives up asking for work, what runs may end, and the same
process asks again, with a new credential.
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
"""A tool that applies is never stopped by a drain; its own timeout bounds it."""

_LAST_RESULTS_SECONDS = 30.0
"""For which a worker that was told to leave twice goes on sending what its control plane has not
taken."""

_WORKED_SECONDS = 60.0
"""A worker that was at work for so long has found its control plane in order."""

_LOOK_AGAIN_SECONDS = 2.0
"""At what may pause the worker: a file, which tells nobody when it comes."""

SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGQUIT)

Make = Callable[[Client], Worker]
T = TypeVar("T")


async def nothing() -> None:
    """Wait for nothing."""


@dataclass(frozen=True)
class Settings:
    """What differs between workers."""

    before: Callable[[], Awaitable[None]] = nothing
    """Waits for what the worker needs besides the control plane."""
    keys: Callable[[], Keys | None] = lambda: None
    """What payloads are encrypted with, once `before` has ended; without them they are plain."""
    interrupt: Callable[[], Awaitable[None]] | None = None
    """Interrupts the tools of this process and waits for them: the second signal."""
    connected: Callable[[Client], Awaitable[None]] | None = None
    """Once, beside the work: what the process has to tell the control plane."""
    after: Callable[[], Awaitable[None]] = nothing
    """Once no work is left, before the process ends."""
    leaves_within_seconds: float | None = None
    """How long the drain of a worker without tools may take; then it leaves all the same, and what
    it had goes on elsewhere. None waits for as long as tools need."""
    paused: Callable[[], bool] = lambda: False
    """Looked at again and again: whether it shall take no work for now."""


def run(where: TemporalAddress, make: Make, settings: Settings) -> None:
    """Run a worker until it is told to leave; never returns.

    Args:
        where: The control plane; waited for if it is not there.
        make: Builds the worker on a connected client.
        settings: What differs between workers.
    """
    lines = logging.StreamHandler(sys.stderr)
    lines.setFormatter(
        WordlessExceptions(f"%(asctime)s %(levelname)s {where.namespace} %(name)s: %(message)s")
    )
    logging.basicConfig(level=logging.INFO, handlers=[lines])
    # They tell of each request, and of a day's wait that a drain allows for; we say it ourselves.
    for chatty in ("httpx", "temporalio.worker._worker"):
        logging.getLogger(chatty).setLevel(logging.WARNING)
    _tell_of_the_sdk_as_of_ourselves()
    status = asyncio.run(_Life(where, make, settings).live())
    _leave(status)


def _leave(status: int) -> NoReturn:
    # Interpreter shutdown crashed in the SDK's native threads on 3.11; there is nothing left to do.
    logging.shutdown()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(status)


def _tell_of_the_sdk_as_of_ourselves() -> None:
    """What the SDK's native part tells holds ids that others chose: it is a line like any other."""
    forwarding = LogForwardingConfig(logging.getLogger("temporalio.core"))
    default = LoggingConfig.default
    told = LoggingConfig(filter=default.filter, forwarding=forwarding)
    Runtime.set_default(Runtime(telemetry=TelemetryConfig(logging=told)))


class _NoWork(Exception):
    """The SDK has given up asking for work; the message has the control plane's reason."""


def _is_refusal(error: RuntimeError) -> bool:
    """Whether it is one of the control plane's, and no fault of this process."""
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
        self._telling: asyncio.Future[None] | None = None
        self._delays: Iterator[float] = delays()
        self._interrupting: asyncio.Task[None] | None = None
        self._left_work = False

    async def live(self) -> int:
        """Live, and give the status to exit with."""
        try:
            status = await self._live()
        finally:
            await self._settings.after()
        if self._left_work:
            # The end of the event loop would wait for it.
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
            # One that ended on a refusal may never let go of its clients.
            clients = clients or await self._unless_leaving(self._connected(keys))
            if clients is None:
                return 0
            client, patient = clients
            if self._settings.connected is not None and self._telling is None:
                self._telling = asyncio.ensure_future(self._settings.connected(patient))
            worker = self._make(client)
            # Building a worker resets its client to retry for 10 s; a result must survive longer.
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
        """A client to build a worker on, and the one that it works with."""
        return (
            await connect(self._where, keys),
            await connect(self._where, keys, patient=True),
        )

    async def _before_asking_again(self, error: "_NoWork") -> None:
        """Wait until it may be of use: whoever ended on a refusal would only be refused again."""
        delay = next(self._delays)
        _log.warning(
            "%s no longer answers this worker, which begins anew in %.0f s: %s",
            self._where.address,
            delay,
            error,
        )
        await asyncio.sleep(delay)
        if self._where.credential is not None:
            await self._where.credential.renew()

    async def _until(self, paused: bool) -> None:
        """Wait until it is paused, or no more."""
        while self._paused() is not paused:  # noqa: ASYNC110 - a file tells nobody
            await asyncio.sleep(_LOOK_AGAIN_SECONDS)

    async def _work(self, worker: Worker) -> None:
        """Work until it shall end.

        Raises:
            _NoWork: the control plane refuses to give any.
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
            _log.info("Draining: what runs may end; no new work is taken.")
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
            # Such as a run whose workflow tasks fail without end.
            _log.warning("Leaving with work that does not end; it goes on elsewhere, or later.")
            self._left_work = True
            return
        if not working.done():
            _log.warning(
                "Leaving, though %s has not taken every result: what an operation came to is in "
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
        """Wait, unless a signal tells to leave first."""
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
        """End the tools; their results are waited for a little, since nobody may be there."""
        if self._settings.interrupt is not None:
            await self._settings.interrupt()
        await asyncio.sleep(_LAST_RESULTS_SECONDS)
        self._in_vain.set()
