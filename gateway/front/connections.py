"""Connects each connection from outside with one to an inner server, and passes bytes both ways.

With back-pressure and half-close. TLS ends at the inner server.
"""

import asyncio
import logging
from collections.abc import Callable
from dataclasses import dataclass
from typing import cast

from gateway.front.admission import Admission
from gateway.front.hello import NoHello, Speaks
from gateway.front.limits import FrontLimits
from gateway.front.peers import Peer, Peers, whose

_log = logging.getLogger(__name__)

_LINGER_SECONDS = 30.0
"""How long the peer may take to receive the rest of a closed connection."""

Recognize = Callable[[bytes], Speaks | None]
"""The protocol, by a connection's first bytes; None if more are needed. Raises NoHello."""


class _Side(asyncio.Protocol):
    """One of two connections, whose bytes are passed to the other one."""

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
        """Pass the end on to the other side, and keep this one open for what comes back."""
        self._ended = True
        other = self.other
        if other is None or other.transport is None or other._ended:
            return False
        if not other.transport.is_closing():
            other.transport.write_eof()
        return True

    def pause_writing(self) -> None:
        """This side's buffer is full, so stop reading from the other side."""
        if self.other is not None and self.other.transport is not None:
            self.other.transport.pause_reading()

    def resume_writing(self) -> None:
        if self.other is not None:
            self.other.read_on()

    def read_on(self) -> None:
        """Continue reading, since the other side has room again."""
        if self.transport is not None:
            self.transport.resume_reading()

    def connection_lost(self, exc: Exception | None) -> None:
        other, self.other, self.transport = self.other, None, None
        if other is not None:
            other.close()

    def close(self) -> None:
        """Close once all data has been sent, or after a while."""
        transport = self.transport
        if transport is not None and not transport.is_closing():
            transport.close()
            asyncio.get_running_loop().call_later(_LINGER_SECONDS, transport.abort)

    def abort(self) -> None:
        if self.transport is not None:
            self.transport.abort()


class _Inner(_Side):
    """The connection to one of the gateway's own servers."""

    def __init__(self, outer: "Outer") -> None:
        super().__init__()
        self.other = outer
        self._outer = outer
        self._port = 0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast(asyncio.Transport, transport)
        self._port = transport.get_extra_info("sockname")[1]
        self._outer.way.peers.add(self._port, self._outer.peer, self._outer)
        self._outer.inner_port = self._port
        self._outer.join(self)

    def connection_lost(self, exc: Exception | None) -> None:
        self._outer.way.peers.remove(self._port)
        super().connection_lost(exc)


@dataclass(frozen=True)
class Way:
    """What all connections share: the way to the inner servers, and the limits."""

    recognize: Recognize
    ports: dict[Speaks, int]
    """The loopback port of each protocol's inner server."""
    peers: Peers
    """Records the peer of each connection."""
    limits: FrontLimits
    admission: "Admission[Outer]"


class Outer(_Side):
    """A connection from outside."""

    def __init__(self, way: Way) -> None:
        super().__init__()
        self.way = way
        self.peer = Peer("", 0)
        self.speaks: Speaks | None = None
        self._first = bytearray()
        self.host = ""
        self.inner_port = 0
        self.began = 0.0
        self.is_stranger = True
        self.taken = 0
        """Bytes that were read: of a stranger, or since the last call of a proven caller."""
        self._answers = 0
        self._held = b""
        """Data received beyond the budget."""
        self._until_proof: asyncio.TimerHandle | None = None
        self._deadline: asyncio.TimerHandle | None = None
        self._connecting: asyncio.Task[None] | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Admit the connection, unless there are too many, and wait for its first bytes."""
        self.transport = cast(asyncio.Transport, transport)
        name = transport.get_extra_info("peername")
        self.peer = Peer(name[0], name[1]) if name else self.peer
        self.host = whose(self.peer.host)
        if not self.way.admission.admit(self):
            self.transport.abort()
            return
        loop = asyncio.get_running_loop()
        self.began = loop.time()
        self._deadline = loop.call_later(self.way.limits.hello_seconds, self.transport.abort)

    def data_received(self, data: bytes) -> None:
        """Recognize the protocol; from then on, pass on all data."""
        if self.other is not None:
            self._pass_on(data)
            return
        self._first += data
        if self.speaks is not None:
            # Recognized, but not yet connected to the inner server.
            return
        try:
            self.speaks = self.way.recognize(bytes(self._first))
        except NoHello as error:
            _log.debug("%s: %s", self.peer, error)
            self.abort()
            return
        if self.speaks is not None:
            if self.transport is not None:
                self.transport.pause_reading()
            self._connecting = asyncio.create_task(self._connect(self.way.ports[self.speaks]))

    def _pass_on(self, data: bytes) -> None:
        """Pass on what the budget allows, and stop reading when it is used up."""
        left = self._left()
        if left is not None and len(data) > left:
            self._stop(data, left)
        else:
            self._count(len(data))
            super().data_received(data)

    def _left(self) -> int | None:
        """How many bytes may still be read; None if unlimited."""
        if self.is_stranger:
            return self.way.admission.left_of(self)
        return None if self.speaks is Speaks.HTTP else self.way.limits.call_bytes - self.taken

    def _count(self, count: int) -> None:
        if self.is_stranger:
            self.way.admission.take(self, count)
        else:
            self.taken += count

    def _stop(self, data: bytes, left: int) -> None:
        self._held = data[left:]
        if self.transport is not None:
            self.transport.pause_reading()
        self._until_proof = asyncio.get_running_loop().call_later(
            self.way.limits.proof_seconds, self.abort
        )
        self._count(left)
        if left:
            super().data_received(data[:left])

    def proven(self) -> None:
        """As in `Watching`."""
        if self.is_stranger:
            self.way.admission.give_back(self)
            self.is_stranger = False
        self.taken = 0
        if self._until_proof is not None:
            self._until_proof.cancel()
            self._until_proof = None
            held, self._held = self._held, b""
            self._pass_on(held)
            self.read_on()

    def answered(self) -> bool:
        """As in `Watching`."""
        self._answers += 1
        last = self._answers >= self.way.limits.stranger_answers
        if last and self.speaks is Speaks.GRPC:
            # Over HTTP, the answer itself announces the end and closes the connection.
            self.close()
        return last

    def read_on(self) -> None:
        """Continue reading, unless the connection waits for a proof."""
        if self._until_proof is None:
            super().read_on()

    def eof_received(self) -> bool:
        """Close the connection, unless the inner side may still send."""
        return super().eof_received() if self.other is not None else False

    def join(self, inner: _Inner) -> None:
        """The inner connection is open: pass on the first bytes."""
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
        """Stop counting the connection, and let the other side end."""
        self._stop_clock()
        self.way.admission.forget(self)
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
