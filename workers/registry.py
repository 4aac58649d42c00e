"""The registry process of the development control plane: one layout, two addresses.

The push address accepts writes; the pull address, which install workers use, refuses every write.
Neither authenticates callers, so both should be loopback addresses.
"""

import argparse
import asyncio
import signal
import socket
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path

import uvicorn
from starlette.types import ASGIApp

from artifacts.layout import Layout
from gateway.front.listening import CannotListen, listen
from gateway.http.server import AsgiServer
from gateway.registry.app import registry_app
from workers.readiness import announce_ready

_SIGNALS = (signal.SIGINT, signal.SIGTERM)
_GRACE_SECONDS = 10
"""How long requests in progress may go on after a signal to end."""


async def serve(layout: Path, push: socket.socket, pull: socket.socket) -> None:
    """Serve `layout` on both sockets until SIGINT or SIGTERM.

    Args:
        layout: The folder of the repositories; created if it does not exist.
        push: A bound socket whose callers may write.
        pull: A bound socket whose callers may only read.
    """
    repositories = Layout(layout)
    await serve_apps(
        {
            push: registry_app(repositories, writable=True),
            pull: registry_app(repositories, writable=False),
        }
    )


async def serve_apps(apps: Mapping[socket.socket, ASGIApp]) -> None:
    """Serve each app on its bound socket until SIGINT or SIGTERM."""
    servers = {_server(app): bound for bound, app in apps.items()}

    def leave() -> None:
        for server in servers:
            server.should_exit = True

    for number in _SIGNALS:
        asyncio.get_running_loop().add_signal_handler(number, leave)
    serving = [asyncio.create_task(server.serve([bound])) for server, bound in servers.items()]
    announcing = asyncio.create_task(_announce(servers))
    try:
        await asyncio.gather(*serving)
    finally:
        announcing.cancel()


async def _announce(servers: Iterable[AsgiServer]) -> None:
    for server in servers:
        await server.up.wait()
    announce_ready()


def _server(app: ASGIApp) -> AsgiServer:
    return AsgiServer(
        uvicorn.Config(
            app,
            access_log=False,
            log_level="warning",
            lifespan="off",
            timeout_graceful_shutdown=_GRACE_SECONDS,
        )
    )


def main() -> None:
    """Run the process; its settings are flags."""
    parser = argparse.ArgumentParser(prog="python -m workers.registry", description=__doc__)
    parser.add_argument("--layout", type=Path, required=True, help="folder of the repositories")
    parser.add_argument("--push", required=True, metavar="HOST:PORT", help="may read and write")
    parser.add_argument("--pull", required=True, metavar="HOST:PORT", help="may only read")
    flags = parser.parse_args()
    try:
        push, pull = listen(flags.push, "the registry"), listen(flags.pull, "the registry")
    except CannotListen as error:
        sys.exit(str(error))
    asyncio.run(serve(flags.layout, push, pull))


if __name__ == "__main__":
    main()
