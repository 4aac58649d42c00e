"""uvicorn as one part of a process: it says when it is up, and takes no signal."""

import asyncio
import socket
from collections.abc import Iterator
from contextlib import contextmanager

import uvicorn


class AsgiServer(uvicorn.Server):
    """A server that says when it is up, and leaves the process's signals alone.

    uvicorn's own handlers are for one server per process.
    """

    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self.up = asyncio.Event()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Listen, and say so by `up`."""
        await super().startup(sockets)
        self.up.set()

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Leave the signals to the process."""
        yield
