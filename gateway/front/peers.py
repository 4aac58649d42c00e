"""Where connections come from: the front accepts them, what serves them sees only the front.

The front notes for each connection that it makes inward, by its port on loopback, for whom it made
it. The note is there before the first byte is passed on, and goes with the connection. What serves
the connection notes that an identity was proven on it, or that it answered somebody who proved
none: the front gives those a little room only.
"""

import ipaddress
from typing import NamedTuple, Protocol


class Peer(NamedTuple):
    """The other end of a connection from outside."""

    host: str
    port: int

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


def whose(host: str) -> str:
    """Whom an address is counted for: of IPv6 its /64, of which one customer has every address."""
    try:
        address = ipaddress.ip_address(host.partition("%")[0])
    except ValueError:
        return host
    if isinstance(address, ipaddress.IPv4Address):
        return str(address)
    if address.ipv4_mapped is not None:
        return str(address.ipv4_mapped)
    return str(ipaddress.ip_network((address, 64), strict=False))


class Watching(Protocol):
    """What the front makes of it."""

    def proven(self) -> None:
        """Somebody who may pass calls on the connection; told with each of their calls."""

    def answered(self) -> bool:
        """Somebody was answered who proved nothing; whether that was the last answer."""


class Peers:
    """The connections that are open, by the port of their inner part."""

    def __init__(self) -> None:
        self._peers: dict[int, Peer] = {}
        self._watching: dict[int, Watching] = {}
        self._proven: set[int] = set()

    def add(self, port: int, peer: Peer, watching: Watching | None = None) -> None:
        """Note whom the connection from this port is for, and who wants to know of it."""
        self._peers[port] = peer
        if watching is not None:
            self._watching[port] = watching

    def remove(self, port: int) -> None:
        """Forget a connection that has ended."""
        self._peers.pop(port, None)
        self._watching.pop(port, None)
        self._proven.discard(port)

    def prove(self, port: int) -> None:
        """Note that somebody who may pass calls on the connection from this port."""
        if port in self._peers:
            self._proven.add(port)
        watching = self._watching.get(port)
        if watching is not None:
            watching.proven()

    def answered(self, port: int) -> bool:
        """Note that the connection from this port was answered, and say whether it shall end now:
        where nobody has proven anything on it, it gets so many answers."""
        watching = self._watching.get(port)
        if watching is None or port in self._proven:
            return False
        return watching.answered()

    def is_proven(self, port: int) -> bool:
        """Whether that was noted."""
        return port in self._proven

    def at(self, port: int) -> Peer | None:
        """Whom the connection from this port is for."""
        return self._peers.get(port)

    def behind(self, inner: str) -> str:
        """Whom a gRPC peer (`ipv4:127.0.0.1:40000`) is for; itself, if it did not come by the
        front."""
        peer = self._peers.get(port_of(inner))
        return str(peer) if peer else inner


def port_of(inner: str) -> int:
    """The port of a gRPC peer; 0 where it has none."""
    _, _, port = inner.rpartition(":")
    return int(port) if port.isdecimal() else 0
