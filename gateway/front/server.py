"""The front: one port for gRPC and HTTP.

It recognizes the protocol by a connection's first bytes, connects to the gateway's own gRPC or HTTP
server on loopback, and passes bytes on. TLS ends at those two servers, which share a certificate:
the front sees neither keys nor plain text, and costs less than it would if TLS ended here.

It closes connections that stay silent at the beginning, limits the number of connections in total
and per address, and closes idle HTTP connections. The gRPC server detects dead gRPC connections by
pinging them.
"""

import asyncio
import socket

from gateway.front.admission import Admission
from gateway.front.connections import Outer, Recognize, Way
from gateway.front.hello import Speaks
from gateway.front.limits import FrontLimits
from gateway.front.peers import Peers

_BACKLOG = 1024
_SWEEP_SECONDS = 10.0


class Front:
    """Accepts connections, and passes them on to the inner servers."""

    def __init__(
        self,
        recognize: Recognize,
        inner: dict[Speaks, int],
        peers: Peers,
        limits: FrontLimits,
    ) -> None:
        """Does not accept connections yet.

        Args:
            recognize: Recognizes the protocol by a connection's first bytes.
            inner: The loopback port of each protocol's inner server.
            peers: Records the peer of each connection.
            limits: The limits to enforce.
        """
        self.limits = limits
        self.admission: Admission[Outer] = Admission(peers, limits)
        self.way = Way(recognize, inner, peers, limits, self.admission)
        self._server: asyncio.Server | None = None
        self._sweeping: asyncio.Task[None] | None = None

    async def start(self, listener: socket.socket) -> None:
        """Accept connections from a bound socket."""
        loop = asyncio.get_running_loop()
        self._server = await loop.create_server(
            lambda: Outer(self.way), sock=listener, backlog=_BACKLOG
        )
        self._sweeping = asyncio.create_task(self._sweep(), name="idle connections")

    def stop_accepting(self) -> None:
        """Close the port; open connections go on."""
        if self._server is not None:
            self._server.close()

    async def close(self) -> None:
        """Close the port and every connection."""
        self.stop_accepting()
        for connection in list(self.admission.open):
            connection.abort()
        if self._sweeping is not None:
            self._sweeping.cancel()
            await asyncio.gather(self._sweeping, return_exceptions=True)

    async def _sweep(self) -> None:
        while True:
            await asyncio.sleep(_SWEEP_SECONDS)
            now = asyncio.get_running_loop().time()
            idle, strange = now - self.limits.idle_seconds, now - self.limits.stranger_seconds
            for connection in list(self.admission.open):
                stays_idle = connection.speaks is Speaks.HTTP and connection.moved < idle
                if stays_idle or (connection.is_stranger and connection.began < strange):
                    connection.abort()
