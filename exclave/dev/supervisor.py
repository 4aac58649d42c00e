"""Starts the development control plane in order, restarts what dies, and drains it in order.

The first signal drains: workers finish what they are doing, then the registry and Temporal end. The
second one is passed on to the workers, which then interrupt their tools. No process is left behind,
even if starting fails half-way.
"""

import asyncio
import signal
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import replace
from pathlib import Path

from activities.access.authority import EnrolmentKeyUnusable
from client.errors import Refused
from exclave.dev.child import Child, FailedToStart
from exclave.dev.data import PidFile
from exclave.dev.declaration import Declaration
from exclave.dev.encryption import export_keys, how_to_read, make_keys
from exclave.dev.gateway import GatewayFiles
from exclave.dev.programs import (
    Program,
    build_workers,
    codec_servers,
    control_workers,
    gateways,
    registry,
    temporal_server,
)
from wire.encryption.key_files import KeyFileError

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGQUIT, signal.SIGHUP)


class Supervisor:
    """Temporal, the registry, the gateway and the workers, and how they react to signals."""

    def __init__(
        self,
        declaration: Declaration,
        pids: PidFile,
        lock: int,
        say: Callable[[str], None],
        logs: Path | None = None,
    ) -> None:
        """Prepare; nothing is started yet.

        Args:
            declaration: What is declared.
            pids: Where pids are recorded.
            lock: The data folder's lock, which every process inherits.
            say: Prints one line for a person.
            logs: A folder for the log of each process; without it, they share the command's output.
        """

        def child(program: Program) -> Child:
            log = logs / f"{program.name}.log" if logs else None
            return Child(replace(program, log=log), pids, lock, say)

        self._declaration = declaration
        self._pids = pids
        self._lock = lock
        self._say = say
        self._signals = 0
        self._stop = asyncio.Event()
        self._temporal = child(temporal_server(declaration))
        self._registry = child(registry(declaration))
        self._codecs = [child(program) for program in codec_servers(declaration)]
        self._control = [child(program) for program in control_workers(declaration)]
        self._builders = [child(program) for program in build_workers(declaration)]
        self._workers = [*self._control, *self._builders]
        self._gateways = [child(program) for program in gateways(declaration)]
        self.up = asyncio.Event()
        """Set once everything is ready."""

    async def run(self) -> None:
        """Start everything, keep it running until a signal comes, and leave no process.

        Raises:
            FailedToStart: a process could not be started; the others have ended by then.
        """
        loop = asyncio.get_running_loop()
        for number in SIGNALS:
            loop.add_signal_handler(number, self._signalled)
        running = asyncio.create_task(self._up_and_watched())
        stopping = asyncio.create_task(self._stop.wait())
        try:
            await asyncio.wait({running, stopping}, return_when=asyncio.FIRST_COMPLETED)
            if running.done():
                running.result()
        finally:
            running.cancel()
            stopping.cancel()
            await asyncio.gather(running, stopping, return_exceptions=True)
            await self._drain()
            for number in SIGNALS:
                loop.remove_signal_handler(number)

    async def add_worker(self, program: Program) -> None:
        """Start one more worker, which is restarted and drained like the others.

        If it cannot be started, that is reported, and it is started again as if it had died.
        """
        child = Child(program, self._pids, self._lock, self._say)
        self._workers.append(child)
        try:
            await child.start()
        except FailedToStart as error:
            self._say(str(error))
        child.keep()

    def stop(self) -> None:
        """Drain and end, as the first signal does."""
        self._stop.set()

    @property
    def _children(self) -> list[Child]:
        return [
            self._temporal,
            self._registry,
            *self._codecs,
            *self._gateways,
            *self._workers,
        ]

    async def _up_and_watched(self) -> None:
        try:
            make_keys(self._declaration)
            if self._declaration.gateway is not None:
                files = GatewayFiles(self._declaration)
                files.make()
                for builder in self._builders:
                    files.make_build_worker(builder.program.name)
        except (KeyFileError, EnrolmentKeyUnusable, Refused, OSError) as error:
            raise FailedToStart(str(error)) from error
        first = [self._temporal, self._registry, *self._codecs]
        await _all(child.start() for child in first)
        # The gateway is ready once a control worker has told it who may pass.
        await _all(child.start() for child in [*self._control, *self._gateways])
        # Build workers enrol at the gateway.
        await _all(child.start() for child in self._builders)
        keeping = [child.keep() for child in self._children]
        self.up.set()
        # Ends only by a bug in `keep`, which must not go unnoticed.
        await asyncio.gather(*keeping)

    async def _drain(self) -> None:
        await asyncio.gather(*(child.stop() for child in self._workers))
        for server in [*self._gateways, *self._codecs]:
            await server.stop()
        await self._registry.stop()
        await self._temporal.stop()
        self._pids.delete()

    def _signalled(self) -> None:
        self._signals += 1
        self._stop.set()
        if self._signals == 1:
            self._say(
                "Draining: workers finish what they are doing. Press Ctrl-C again to interrupt "
                "their tools."
            )
            return
        busy = [child for child in self._workers if child.pid is not None]
        if self._signals == 2 and busy:
            for child in busy:
                child.terminate()
            self._say(f"Waiting for these to interrupt their tools: {_named(busy)}.")
            return
        left = [child for child in self._children if child.pid is not None]
        self._say(f"Still waiting for {_named(left) or 'nothing'}.")


def introduction(declaration: Declaration) -> str:
    """The text for a person once everything is up."""
    temporal, images = declaration.temporal, declaration.registry
    return f"""
The development control plane is up. Ctrl-C drains and stops it.

  Temporal UI      http://{temporal.ui}/namespaces/{declaration.namespace}
  Temporal         {temporal.address}, namespace {declaration.namespace}
  Registry         push http://{images.push}, pull http://{images.pull}{_door(declaration)}
  Data             {declaration.data}

In another terminal:

  export TEMPORAL_ADDRESS={temporal.address} TEMPORAL_NAMESPACE={declaration.namespace}
  export EXCLAVE_REGISTRY=http://{images.push}{export_keys(declaration)}
  exclave build examples/shop --app shop
{how_to_read(declaration)}"""


def _door(declaration: Declaration) -> str:
    gateway = declaration.gateway
    return f"\n  Gateway          https://{gateway}, the only door for workers" if gateway else ""


def _named(children: Iterable[Child]) -> str:
    return ", ".join(f"{child.program.title} (pid {child.pid})" for child in children)


async def _all(starts: Iterable[Awaitable[None]]) -> None:
    """Await all. The first failure cancels the rest, and is raised once they have ended."""
    tasks = [asyncio.ensure_future(start) for start in starts]
    try:
        await asyncio.gather(*tasks)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
