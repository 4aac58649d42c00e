"""The gateway's process: it serves until a signal comes, then lets the calls in progress end.

    exclave-gateway gateway.toml

On the first SIGTERM or SIGINT it closes its port, sends workers to other gateways, answers their
polls empty, and gives other calls `drain_seconds`. A second signal ends those, too.
"""

import os

# gRPC reads these variables when it is imported. Without the first one, it logs every failed
# handshake without limit, and any stranger can cause those. Without the second one, gRPC's own
# threads are between the sockets and the event loop, and each message changes threads more often:
# that took a tenth to a sixth of a call's time (bench/gateway.py).
os.environ.setdefault("GRPC_VERBOSITY", "NONE")
os.environ.setdefault("GRPC_EXPERIMENTS", "-event_engine_client,-event_engine_listener")

import asyncio
import gc
import logging
import resource
import signal
import sys
from collections.abc import Callable, Coroutine, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from typing import Any

import uvloop
from starlette.routing import BaseRoute

from gateway.audit import Audit
from gateway.door import Door
from gateway.front.listening import CannotListen, listen
from gateway.identity import Access, Authenticator
from gateway.settings import GatewaySettings, SettingsError
from workers.log_lines import WholeLines
from workers.readiness import announce_ready

_COLLECTED_AFTER = 20_000
"""Collect garbage after so many objects were created and not freed."""
_SIGNALS = (signal.SIGINT, signal.SIGTERM)

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Admission:
    """What the gateway needs besides its settings in order to decide who may come in."""

    authenticator: Authenticator
    access: Access
    routes: Sequence[BaseRoute]
    """The HTTP routes."""
    audit: Audit = field(default_factory=Audit)
    """Also logs the denials of these routes."""


Admit = Callable[[GatewaySettings], AbstractAsyncContextManager[Admission]]
"""Opens an `Admission` for as long as the gateway serves."""


def run(settings: GatewaySettings, admit: Admit) -> None:
    """Serve until a signal comes, then end the process."""
    lines = logging.StreamHandler(sys.stderr)
    lines.setFormatter(WholeLines("%(asctime)s %(levelname)s %(name)s: %(message)s"))
    logging.basicConfig(level=logging.INFO, handlers=[lines])
    logging.getLogger("httpx").setLevel(logging.WARNING)
    _raise_file_limit()
    try:
        run_loop(serve(settings, admit))
    except (SettingsError, CannotListen) as error:
        sys.exit(f"exclave-gateway: {error}")
    # On 3.11, interpreter shutdown crashed in native threads, so skip it.
    logging.shutdown()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(0)


def run_loop(serving: Coroutine[Any, Any, None]) -> None:
    """Run on libuv's event loop; asyncio's own takes a good part of a small call's time."""
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(serving)


def freeze_garbage_collector() -> None:
    """Collect garbage rarely, and only among new objects, since calls leave no cycles."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(_COLLECTED_AFTER)


async def serve(settings: GatewaySettings, admit: Admit) -> None:
    """Serve until SIGINT or SIGTERM.

    Raises:
        SettingsError: a file that the settings name cannot be used.
        CannotListen: the address cannot be used.
    """
    leaving, hurrying = asyncio.Event(), asyncio.Event()

    def leave(name: str) -> None:
        _log.info("%s: leaving.", name)
        (hurrying if leaving.is_set() else leaving).set()

    loop = asyncio.get_running_loop()
    for number in _SIGNALS:
        loop.add_signal_handler(number, leave, signal.Signals(number).name)
    door_settings = settings.door()
    listener = listen(settings.listen, "the gateway")
    async with admit(settings) as admission:
        door = Door(
            door_settings,
            admission.authenticator,
            admission.access,
            admission.routes,
            admission.audit,
        )
        await door.open(listener)
        freeze_garbage_collector()
        announce_ready()
        _log.info("Serving at %s for %s.", settings.listen, ", ".join(settings.orgs))
        await leaving.wait()
        closing = asyncio.create_task(door.close(settings.drain_seconds))
        hurry = asyncio.create_task(hurrying.wait())
        await asyncio.wait({closing, hurry}, return_when=asyncio.FIRST_COMPLETED)
        hurry.cancel()
        if not closing.done():
            await door.close(grace=0)
        await closing
    _log.info("Done.")


def _raise_file_limit() -> None:
    """Raise the limit of open files: each worker's connection takes three, and 1,000 are usual."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
