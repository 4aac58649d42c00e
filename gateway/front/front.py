"""The front: one port for gRPC and HTTP.

It reads from a connection's first bytes what its client speaks, connects to the gateway's own gRPC
or HTTP server on loopback, and passes bytes on, in both directions, with back-pressure and
half-close. TLS is ended behind it, by those two servers with the same certificate: the front sees
no key and nothing in clear, and costs less than ending TLS here would.

It closes what stays silent at the beginning, bounds how many connections there are, in all and from
one address, and closes HTTP connections on which nothing moves. Dead gRPC connections are found by
the gRPC server, which pings them. Where there are too many, one on which nobody has proven who
calls gives way to a new one: strangers can take the place of strangers alone.

Whatever a stranger sends is held in memory behind the front, by servers that cannot bound it: gRPC
keeps headers that do not end, and calls that are taken back. So a connection on which nobody is
proven is read up to a budget, and ends soon after. Who proves themselves gets a new one with each
call. HTTP is without it from then on: its server reads no more than it has room for.
"""

import asyncio
import logging
import socket
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import cast

from gateway.front.hello import NoHello, Speaks
from gateway.front.peers import Peer, Peers, whose

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
    stranger_bytes: int = 128 * 1024
    """What is read of an HTTP connection on which nobody is proven: an enrolment takes 64 KiB."""
    stranger_call_bytes: int = 32 * 1024
    """The same of gRPC, where headers can take a hundred times as much memory as they have bytes.
    Of HTTP, too, while strangers have had more than one of the next two. A worker needs 22 KiB: a
    handshake, and the whole TLS record that its first headers are in, which may be 16 KiB."""
    strangers_bytes_per_address: int = 16 * 1024 * 1024
    strangers_bytes: int = 64 * 1024 * 1024
    stranger_answers: int = 30
    """How many answers it gets."""
    stranger_seconds: float = 120.0
    """How long it may take; an enrolment takes up to 90 s."""
    proof_seconds: float = 10.0
    """How long it is waited for a proof once nothing more is read."""
    call_bytes: int = 32 * 1024 * 1024
    """What is read of a gRPC connection after one call of who may pass, until the next."""


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
        self._taken_by_host: Counter[str] = Counter()
        self._taken = 0
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

    def left_of(self, connection: "_Outer") -> int:
        """How many bytes of a stranger's may still be read."""
        limits = self.limits
        need = (
            self._taken > limits.strangers_bytes
            or self._taken_by_host[connection.host] > limits.strangers_bytes_per_address
        )
        less = need or connection.speaks is Speaks.GRPC
        most = limits.stranger_call_bytes if less else limits.stranger_bytes
        return max(0, most - connection.taken)

    def take(self, connection: "_Outer", count: int) -> None:
        """So much was read of a stranger's."""
        connection.taken += count
        self._taken += count
        self._taken_by_host[connection.host] += count

    def give_back(self, connection: "_Outer") -> None:
        """Whoever it was of has proven who they are, or is gone."""
        host, taken, connection.taken = connection.host, connection.taken, 0
        self._taken -= taken
        self._taken_by_host[host] -= taken
        if not self._taken_by_host[host]:
            del self._taken_by_host[host]

    def forget(self, connection: "_Outer") -> None:
        """A connection has ended, or has to give way."""
        if connection in self.open:
            self.open.remove(connection)
            self._no_stranger(connection)
            self.give_back(connection)
            self._by_host[connection.host] -= 1
            if not self._by_host[connection.host]:
                del self._by_host[connection.host]

    async def _sweep(self) -> None:
        while True:
            await asyncio.sleep(_SWEEP_SECONDS)
            now = asyncio.get_running_loop().time()
            idle, strange = now - self.limits.idle_seconds, now - self.limits.stranger_seconds
            for connection in list(self.open):
                stays_idle = connection.speaks is Speaks.HTTP and connection.moved < idle
                if stays_idle or (connection.is_stranger and connection.began < strange):
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
        if self.other is not None:
            self.other.read_on()

    def read_on(self) -> None:
        """What was read is passed on: there is room for more."""
        if self.transport is not None:
            self.transport.resume_reading()

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
        self._outer.front.peers.add(self._port, self._outer.peer, self._outer)
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
        self.began = 0.0
        self.is_stranger = True
        self.taken = 0
        """Bytes that were read of a stranger's, or since the last call of who may pass."""
        self._answers = 0
        self._held = b""
        """What was received beyond the budget."""
        self._until_proof: asyncio.TimerHandle | None = None
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
        self.began = loop.time()
        self._deadline = loop.call_later(self.front.limits.hello_seconds, self.transport.abort)

    def data_received(self, data: bytes) -> None:
        if self.other is not None:
            self._pass_on(data)
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

    def _pass_on(self, data: bytes) -> None:
        """Pass on what the budget allows for, and stop reading where it ends."""
        left = self._left()
        if left is not None and len(data) > left:
            self._stop(data, left)
        else:
            self._count(len(data))
            super().data_received(data)

    def _left(self) -> int | None:
        """Bytes that may still be read; None for any number."""
        if self.is_stranger:
            return self.front.left_of(self)
        return None if self.speaks is Speaks.HTTP else self.front.limits.call_bytes - self.taken

    def _count(self, count: int) -> None:
        if self.is_stranger:
            self.front.take(self, count)
        else:
            self.taken += count

    def _stop(self, data: bytes, left: int) -> None:
        self._held = data[left:]
        if self.transport is not None:
            self.transport.pause_reading()
        self._until_proof = asyncio.get_running_loop().call_later(
            self.front.limits.proof_seconds, self.abort
        )
        self._count(left)
        if left:
            super().data_received(data[:left])

    def proven(self) -> None:
        """As `Watching` says."""
        if self.is_stranger:
            self.front.give_back(self)
            self.is_stranger = False
        self.taken = 0
        if self._until_proof is not None:
            self._until_proof.cancel()
            self._until_proof = None
            held, self._held = self._held, b""
            self._pass_on(held)
            self.read_on()

    def answered(self) -> bool:
        """As `Watching` says."""
        self._answers += 1
        last = self._answers >= self.front.limits.stranger_answers
        if last and self.speaks is Speaks.GRPC:
            # Over HTTP the answer itself says so, and ends it.
            self.close()
        return last

    def read_on(self) -> None:
        """The same, unless a proof is waited for."""
        if self._until_proof is None:
            super().read_on()

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
        first = bytes(self._first)
        self._first.clear()
        self._pass_on(first)
        self.read_on()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_clock()
        self.front.forget(self)
        super().connection_lost(exc)

    def _stop_clock(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None
        if self._until_proof is not None:
            self._until_proof.cancel()
            self._until_proof = None

    async def _connect(self, port: int) -> None:
        loop = asyncio.get_running_loop()
        try:
            await loop.create_connection(lambda: _Inner(self), "127.0.0.1", port)
        except OSError as error:
            _log.error("The gateway's own server on port %d does not answer: %s", port, error)
            self.abort()
