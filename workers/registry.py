"""The registry process of the development control plane: one layout, two addresses.

Whatever comes to the push address may write; the pull address, which install workers know, refuses
every write. Neither asks who calls, so both should be loopback addresses.
"""

import argparse
import asyncio
import os
import signal
import socket
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

import uvicorn
from starlette.types import ASGIApp

from artifacts.layout import Layout
from gateway.registry import registry_app
from workers.readiness import announce_ready

_SIGNALS = (signal.SIGINT, signal.SIGTERM)
_GRACE_SECONDS = 10
"""How long requests that are under way may go on once the process is told to end."""


class CannotListen(Exception):
    """An address cannot be listened on."""


class _Server(uvicorn.Server):
    """A server that says when it is up, and leaves the process's signals alone.

    uvicorn's own handlers are for one server per process.
    """

    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self.up = asyncio.Event()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self.up.set()

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


def listen(address: str) -> socket.socket:
    """Bind `HOST:PORT`, so that a taken port is known before anything serves.

    Raises:
        CannotListen: the address is malformed, or the port cannot be had.
    """
    host, _, port = address.rpartition(":")
    host = host.strip("[]")
    if not host or not port.isdecimal():
        raise CannotListen(f"{address!r} is no address; write HOST:PORT")
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # With the protocol named, asyncio sets TCP_NODELAY; without it each body waits 40 ms for the
    # acknowledgement of its headers.
    listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((host, int(port)))
    except (OSError, OverflowError) as error:
        listener.close()
        why = os.strerror(error.errno) if isinstance(error, OSError) and error.errno else error
        raise CannotListen(
            f"the registry cannot listen on {address}: {why}; stop what listens there, or choose "
            "another port"
        ) from error
    return listener


async def serve(layout: Path, push: socket.socket, pull: socket.socket) -> None:
    """Serve `layout` on both sockets until SIGINT or SIGTERM.

    Args:
        layout: The folder of the repositories; made if it is not there.
        push: A bound socket whose callers may write.
        pull: A bound socket whose callers may only read.
    """
    repositories = Layout(layout)
    servers = {
        _server(registry_app(repositories, writable=True)): push,
        _server(registry_app(repositories, writable=False)): pull,
    }

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


async def _announce(servers: Iterable[_Server]) -> None:
    for server in servers:
        await server.up.wait()
    announce_ready()


def _server(app: ASGIApp) -> _Server:
    return _Server(
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
        push, pull = listen(flags.push), listen(flags.pull)
    except CannotListen as error:
        sys.exit(str(error))
    asyncio.run(serve(flags.layout, push, pull))


if __name__ == "__main__":
    main()
