"""The front: one port for gRPC and HTTP.

It reads from a connection's first bytes what its client speaks, connects to the gateway's own gRPC
or HTTP server on loopback, and passes bytes on, in both directions, with back-pressure and
half-close. TLS is ended behind it, by those two servers with the same certificate: the front sees
no key and nothing in clear, and costs less than ending TLS here would.

It closes what stays silent at the beginning, bounds how many connections there are, in all and from
one address, and closes HTTP connections on which nothing moves. Dead gRPC connections are found by
the gRPC server, which pings them. Where there are too many, one on which nobody has proven who
calls gives way to a new one: strangers can take the place of strangers alone.
"""

import asyncio
import logging
import socket
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import cast

from gateway.hello import NoHello, Speaks
from gateway.peers import Peer, Peers, whose

_log = logging.getLogger(__name__)

_BACKLOG = 1024
_LINGER_SECONDS = 30.0
"""How long the rest of a closed connection may take to be received."""
_SWEEP_SECONDS = 10.0


@dataclass(frozen=True)
class FrontLimits:
    """What the front bounds."""

    connections: int = 10_000
    connections_per_address: int = 2_000
    """A load balancer before the gateway is one address; so is a company behind its NAT. Of IPv6 a
    /64 counts as one."""
    hello_seconds: float = 10.0
    """How long a client may take until it has said what it speaks."""
    idle_seconds: float = 120.0
    """How long nothing may move on an HTTP connection."""


Recognize = Callable[[bytes], Speaks | None]
"""What a connection's first bytes say; None if there must be more. Raises NoHello."""


class Front:
    """Accepts connections and hands them on."""

    def __init__(
        self,
        recognize: Recognize,
        inner: dict[Speaks, int],
        peers: Peers,
        limits: FrontLimits,
    ) -> None:
        """Prepare; nothing is accepted yet.

        Args:
            recognize: Tells by the first bytes what a client speaks.
            inner: The port on loopback of the server for each.
            peers: Where the address of each connection is noted.
            limits: What is bounded.
        """
        self.recognize = recognize
        self.inner = inner
        self.peers = peers
        self.limits = limits
        self.open: set[_Outer] = set()
        self.refused = 0
        """Connections that were, and that had to give way."""
        self._by_host: Counter[str] = Counter()
        self._strangers: dict[_Outer, None] = {}
        """Those on which nobody may have proven yet who calls, the oldest first."""
        self._strangers_of: dict[str, dict[_Outer, None]] = {}
        """The same, by host."""
        self._server: asyncio.Server | None = None
        self._sweeping: asyncio.Task[None] | None = None

    async def start(self, listener: socket.socket) -> None:
        """Accept connections from a bound socket."""
        loop = asyncio.get_running_loop()
        self._server = await loop.create_server(
            lambda: _Outer(self), sock=listener, backlog=_BACKLOG
        )
        self._sweeping = asyncio.create_task(self._sweep(), name="idle connections")

    def stop_accepting(self) -> None:
        """Close the port; open connections go on."""
        if self._server is not None:
            self._server.close()

    async def close(self) -> None:
        """Close the port and every connection."""
        self.stop_accepting()
        for connection in list(self.open):
            connection.abort()
        if self._sweeping is not None:
            self._sweeping.cancel()
            await asyncio.gather(self._sweeping, return_exceptions=True)

    def admit(self, connection: "_Outer") -> bool:
        """Count a new connection, unless there are too many, and all of them may pass."""
        host, limits = connection.host, self.limits
        if self._by_host[host] >= limits.connections_per_address:
            full: dict[_Outer, None] | None = self._strangers_of.get(host, {})
        else:
            full = self._strangers if len(self.open) >= limits.connections else None
        if full is not None:
            self.refused += 1
            stranger = self._oldest(full)
            if stranger is None:
                return False
            self.forget(stranger)
            stranger.abort()
        self.open.add(connection)
        self._by_host[host] += 1
        self._strangers[connection] = None
        self._strangers_of.setdefault(host, {})[connection] = None
        return True

    def _oldest(self, strangers: "dict[_Outer, None]") -> "_Outer | None":
        """The oldest connection on which nobody has proven yet who calls."""
        while (one := next(iter(strangers), None)) is not None:
            if not self.peers.is_proven(one.inner_port):
                return one
            self._no_stranger(one)
        return None

    def _no_stranger(self, connection: "_Outer") -> None:
        self._strangers.pop(connection, None)
        of_host = self._strangers_of.get(connection.host, {})
        of_host.pop(connection, None)
        if not of_host:
            self._strangers_of.pop(connection.host, None)

    def forget(self, connection: "_Outer") -> None:
        """A connection has ended, or has to give way."""
        if connection in self.open:
            self.open.remove(connection)
            self._no_stranger(connection)
            self._by_host[connection.host] -= 1
            if not self._by_host[connection.host]:
                del self._by_host[connection.host]

    async def _sweep(self) -> None:
        while True:
            await asyncio.sleep(_SWEEP_SECONDS)
            before = asyncio.get_running_loop().time() - self.limits.idle_seconds
            for connection in list(self.open):
                if connection.speaks is Speaks.HTTP and connection.moved < before:
                    connection.abort()


class _Side(asyncio.Protocol):
    """One of two connections whose bytes are passed from each to the other."""

    def __init__(self) -> None:
        self.transport: asyncio.Transport | None = None
        self.other: _Side | None = None
        self.moved = 0.0
        self._ended = False

    def data_received(self, data: bytes) -> None:
        other = self.other
        if other is not None and other.transport is not None:
            self.moved = asyncio.get_running_loop().time()
            other.transport.write(data)

    def eof_received(self) -> bool:
        """Tell the other side; keep this one open for what comes back."""
        self._ended = True
        other = self.other
        if other is None or other.transport is None or other._ended:
            return False
        if not other.transport.is_closing():
            other.transport.write_eof()
        return True

    def pause_writing(self) -> None:
        """This side takes nothing more at the moment, so nothing more is read from the other."""
        if self.other is not None and self.other.transport is not None:
            self.other.transport.pause_reading()

    def resume_writing(self) -> None:
        if self.other is not None and self.other.transport is not None:
            self.other.transport.resume_reading()

    def connection_lost(self, exc: Exception | None) -> None:
        other, self.other, self.transport = self.other, None, None
        if other is not None:
            other.close()

    def close(self) -> None:
        """Close once what is on its way has been sent, or after a while."""
        transport = self.transport
        if transport is not None and not transport.is_closing():
            transport.close()
            asyncio.get_running_loop().call_later(_LINGER_SECONDS, transport.abort)

    def abort(self) -> None:
        if self.transport is not None:
            self.transport.abort()


class _Inner(_Side):
    """The connection to one of the gateway's own servers."""

    def __init__(self, outer: "_Outer") -> None:
        super().__init__()
        self.other = outer
        self._outer = outer
        self._port = 0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast(asyncio.Transport, transport)
        self._port = transport.get_extra_info("sockname")[1]
        self._outer.front.peers.add(self._port, self._outer.peer)
        self._outer.inner_port = self._port
        self._outer.join(self)

    def connection_lost(self, exc: Exception | None) -> None:
        self._outer.front.peers.remove(self._port)
        super().connection_lost(exc)


class _Outer(_Side):
    """A connection from outside."""

    def __init__(self, front: Front) -> None:
        super().__init__()
        self.front = front
        self.peer = Peer("", 0)
        self.speaks: Speaks | None = None
        self._first = bytearray()
        self.host = ""
        self.inner_port = 0
        self._deadline: asyncio.TimerHandle | None = None
        self._connecting: asyncio.Task[None] | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast(asyncio.Transport, transport)
        name = transport.get_extra_info("peername")
        self.peer = Peer(name[0], name[1]) if name else self.peer
        self.host = whose(self.peer.host)
        if not self.front.admit(self):
            self.transport.abort()
            return
        loop = asyncio.get_running_loop()
        self._deadline = loop.call_later(self.front.limits.hello_seconds, self.transport.abort)

    def data_received(self, data: bytes) -> None:
        if self.other is not None:
            super().data_received(data)
            return
        self._first += data
        if self.speaks is not None:
            # It has been recognized, and the way inward is not open yet.
            return
        try:
            self.speaks = self.front.recognize(bytes(self._first))
        except NoHello as error:
            _log.debug("%s: %s", self.peer, error)
            self.abort()
            return
        if self.speaks is not None:
            if self.transport is not None:
                self.transport.pause_reading()
            self._connecting = asyncio.create_task(self._connect(self.front.inner[self.speaks]))

    def eof_received(self) -> bool:
        return super().eof_received() if self.other is not None else False

    def join(self, inner: _Inner) -> None:
        """The way inward is open: pass on what came first."""
        if self.transport is None or inner.transport is None:
            inner.abort()
            return
        self._stop_clock()
        self.other = inner
        self.moved = asyncio.get_running_loop().time()
        inner.transport.write(bytes(self._first))
        self._first.clear()
        self.transport.resume_reading()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_clock()
        self.front.forget(self)
        super().connection_lost(exc)

    def _stop_clock(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None

    async def _connect(self, port: int) -> None:
        loop = asyncio.get_running_loop()
        try:
            await loop.create_connection(lambda: _Inner(self), "127.0.0.1", port)
        except OSError as error:
            _log.error("The gateway's own server on port %d does not answer: %s", port, error)
            self.abort()
