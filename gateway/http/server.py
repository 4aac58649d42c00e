"""uvicorn as one part of a process: it reports when it is up, and handles no signals."""

import asyncio
import socket
from collections.abc import Iterator
from contextlib import contextmanager

import uvicorn


class AsgiServer(uvicorn.Server):
    """A server that sets `up` when it listens, and installs no signal handlers.

    uvicorn's own handlers assume that it is the only server in the process.
    """

    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self.up = asyncio.Event()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Listen, and set `up`."""
        await super().startup(sockets)
        self.up.set()

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Leave the signals to the process."""
        yield
