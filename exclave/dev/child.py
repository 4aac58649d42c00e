"""One supervised process: started, awaited until it is ready, restarted when it dies, and ended.

It has its own session, so that the terminal's Ctrl-C reaches only `exclave dev`. It inherits
standard output and error, since writing to a pipe that nobody reads any more would kill it.
"""

import asyncio
import contextlib
import os
import time
from collections.abc import Callable, Coroutine, Iterator
from typing import BinaryIO

from exclave.dev.data import PidFile
from exclave.dev.programs import Program
from exclave.dev.server import NotAsDeclared
from wire.backoff import backoff
from workers.readiness import READY_LINE, READY_VARIABLE

READY_SECONDS = 60.0
"""How long a process may take until it is ready; importing takes seconds on a busy machine."""
FIRST_DELAY_SECONDS = 1.0
LONGEST_DELAY_SECONDS = 30.0
STEADY_SECONDS = 60.0
"""After serving for so long, a process is restarted with the first delay again."""
GRACE_SECONDS = 20.0
"""How long a process that runs no tools may take to end before it is killed."""


class FailedToStart(Exception):
    """A process died, or stayed silent, before it was ready."""


class Child:
    """A process that is kept alive until it is stopped."""

    def __init__(
        self, program: Program, pids: PidFile, lock: int, say: Callable[[str], None]
    ) -> None:
        """Prepare; nothing is started yet.

        Args:
            program: What to start.
            pids: Where its pid is recorded.
            lock: The data folder's lock, a descriptor that the process inherits.
            say: Prints one line for a person.
        """
        self.program = program
        self._pids = pids
        self._lock = lock
        self._say = say
        self._process: asyncio.subprocess.Process | None = None
        self._keeping: asyncio.Task[None] | None = None

    @property
    def pid(self) -> int | None:
        """The pid while the process lives."""
        return self._process.pid if self._process else None

    async def start(self) -> None:
        """Start the process and return once it is ready.

        Raises:
            FailedToStart: it could not be started, died, or stayed silent; it has ended by then.
        """
        try:
            await self._start()
        except OSError as error:
            raise FailedToStart(
                f"{self.program.title} cannot be started: {self.program.argv[0]}: {error.strerror}"
            ) from error
        except FailedToStart:
            await self._end(killable=True)
            raise
        except NotAsDeclared as error:
            await self._end(killable=True)
            raise FailedToStart(str(error)) from error

    def keep(self) -> "asyncio.Task[None]":
        """From now on, restart the process whenever it ends; the task never ends by itself."""
        self._keeping = asyncio.create_task(self._keep(), name=f"keep {self.program.name}")
        return self._keeping

    async def stop(self) -> None:
        """Ask the process to end (SIGTERM) and wait for it; it is not restarted."""
        if self._keeping is not None:
            self._keeping.cancel()
            await asyncio.gather(self._keeping, return_exceptions=True)
        await self._end(killable=not self.program.works)

    def terminate(self) -> None:
        """Send SIGTERM, if the process lives."""
        if self._process is not None:
            with contextlib.suppress(ProcessLookupError):
                self._process.terminate()

    async def _start(self) -> None:
        if self.program.probe is not None:
            await self._execute((self._lock,), dict(os.environ))
            await self._serves(self.program.probe())
            return
        pipe, write_end = _pipe()
        with pipe:
            try:
                environment = {**os.environ, READY_VARIABLE: str(write_end)}
                await self._execute((self._lock, write_end), environment)
            finally:
                os.close(write_end)
            await self._serves(_ready_line(pipe))

    async def _execute(self, descriptors: tuple[int, ...], environment: dict[str, str]) -> None:
        with _output(self.program) as (stdout, stderr):
            self._process = await asyncio.create_subprocess_exec(
                *self.program.argv,
                stdin=asyncio.subprocess.DEVNULL,
                stdout=stdout,
                stderr=stderr,
                pass_fds=descriptors,
                env=environment,
                cwd=self.program.folder,
                start_new_session=True,
            )
        self._pids.add(self.program.name, self._process.pid)

    async def _serves(self, ready: Coroutine[None, None, None]) -> None:
        serving = asyncio.create_task(ready)
        ending = asyncio.create_task(self._ended())
        try:
            done, _ = await asyncio.wait(
                {serving, ending}, timeout=READY_SECONDS, return_when=asyncio.FIRST_COMPLETED
            )
            # If our process has died, whatever answers is not ours.
            if ending in done:
                raise FailedToStart(f"{self.program.title} {ending.result()} before it was ready")
            if serving not in done:
                raise FailedToStart(
                    f"{self.program.title} (pid {self.pid}) was not ready within "
                    f"{READY_SECONDS:.0f} s"
                )
            serving.result()
        finally:
            serving.cancel()
            ending.cancel()
            await asyncio.gather(serving, ending, return_exceptions=True)

    async def _keep(self) -> None:
        delays = backoff(FIRST_DELAY_SECONDS, LONGEST_DELAY_SECONDS)
        served = time.monotonic()
        how = f"{self.program.title} {await self._ended()}"
        while True:
            if time.monotonic() - served > STEADY_SECONDS:
                delays = backoff(FIRST_DELAY_SECONDS, LONGEST_DELAY_SECONDS)
            delay = next(delays)
            self._say(f"{how}; restarting it in {delay:.0f} s")
            await asyncio.sleep(delay)
            try:
                await self.start()
            except FailedToStart as error:
                how = str(error)
                continue
            served = time.monotonic()
            self._say(f"{self.program.title} is up again (pid {self.pid})")
            how = f"{self.program.title} {await self._ended()}"

    async def _ended(self) -> str:
        """Wait until the process has ended, and say how."""
        process = self._process
        if process is None:
            return "is not running"
        status = await process.wait()
        if self._process is process:
            self._process = None
            self._pids.remove(self.program.name)
        return f"ended with signal {-status}" if status < 0 else f"ended with status {status}"

    async def _end(self, killable: bool) -> None:
        self.terminate()
        try:
            await asyncio.wait_for(self._ended(), GRACE_SECONDS if killable else None)
        except TimeoutError:
            self._say(
                f"{self.program.title} (pid {self.pid}) does not end within {GRACE_SECONDS:.0f} s; "
                "killing it"
            )
            if self._process is not None:
                self._process.kill()
            await self._ended()


@contextlib.contextmanager
def _output(program: Program) -> Iterator[tuple[int | None, int | None]]:
    """Where the program's standard output and error go."""
    if program.log is None:
        yield asyncio.subprocess.DEVNULL if program.quiet else None, None
        return
    with program.log.open("ab") as log:
        yield log.fileno(), log.fileno()


def _pipe() -> tuple[BinaryIO, int]:
    read_end, write_end = os.pipe()
    return os.fdopen(read_end, "rb"), write_end


async def _ready_line(pipe: BinaryIO) -> None:
    """Wait for the line that `workers.readiness` writes; never returns without it."""
    reader = asyncio.StreamReader()
    transport, _ = await asyncio.get_running_loop().connect_read_pipe(
        lambda: asyncio.StreamReaderProtocol(reader), pipe
    )
    try:
        if await reader.readline() != READY_LINE:
            # Closed without the line: the process is ending, and its exit status will say how.
            await asyncio.get_running_loop().create_future()
    finally:
        transport.close()
