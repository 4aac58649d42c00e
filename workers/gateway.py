"""The gateway's process: it serves until it is told to leave, then lets what is under way end.

    exclave-gateway gateway.toml

On the first SIGTERM or SIGINT it closes its port, tells the workers to go elsewhere, answers their
polls empty, and gives other calls `drain_seconds`. A second signal ends those, too.
"""

import os

# gRPC reads it as it is imported. Without it, gRPC logs each handshake that fails, without measure,
# and any stranger can cause those.
os.environ.setdefault("GRPC_VERBOSITY", "NONE")

import asyncio
import logging
import resource
import signal
import sys
from collections.abc import Callable, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field

from starlette.routing import BaseRoute

from gateway.audit import Audit
from gateway.door import Door
from gateway.identity import Access, Authenticator
from gateway.listening import CannotListen, listen
from gateway.settings import GatewaySettings, SettingsError
from workers.readiness import announce_ready

_SIGNALS = (signal.SIGINT, signal.SIGTERM)

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Admission:
    """Who may come in: what the door needs besides its settings."""

    authenticator: Authenticator
    access: Access
    routes: Sequence[BaseRoute]
    """What is served over HTTP."""
    audit: Audit = field(default_factory=Audit)
    """Where its denials are told, too."""


Admit = Callable[[GatewaySettings], AbstractAsyncContextManager[Admission]]
"""Opens what tells who may come in, for as long as the gateway serves."""


def run(settings: GatewaySettings, admit: Admit) -> None:
    """Serve until told to leave, then end the process."""
    logging.basicConfig(
        level=logging.INFO,
        stream=sys.stderr,
        format="%(asctime)s %(levelname)s %(name)s: %(message)s",
    )
    logging.getLogger("httpx").setLevel(logging.WARNING)
    _raise_file_limit()
    try:
        asyncio.run(serve(settings, admit))
    except (SettingsError, CannotListen) as error:
        sys.exit(f"exclave-gateway: {error}")
    # Interpreter shutdown crashed in native threads on 3.11; there is nothing left to do.
    logging.shutdown()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(0)


async def serve(settings: GatewaySettings, admit: Admit) -> None:
    """Serve until SIGINT or SIGTERM.

    Raises:
        SettingsError: a file that the settings name cannot be used.
        CannotListen: the address cannot be had.
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
    """Each worker's connection takes three descriptors, and the usual limit is a thousand."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
