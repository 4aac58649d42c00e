"""Knows where connections come from, since the inner servers see only the front.

For each connection that the front opens to an inner server, it records the real peer under the
connection's port on loopback, from before the first byte is passed on until the connection ends.
The inner server records here that an identity was proven on the connection, or that it answered a
caller who proved none; the front grants such callers only few answers.
"""

import ipaddress
from typing import NamedTuple, Protocol


class Peer(NamedTuple):
    """The outer end of a connection from outside."""

    host: str
    port: int

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


def whose(host: str) -> str:
    """The key under which an address is limited.

    IPv6 callers are grouped by /64, since one customer usually owns the whole prefix.
    """
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
    """How the front learns what happens on a connection."""

    def proven(self) -> None:
        """A caller with a proven identity uses the connection; called for each of their calls."""

    def answered(self) -> bool:
        """A caller who proved nothing was answered; returns whether that was the last answer."""


class Peers:
    """The open connections, by the port of their inner part."""

    def __init__(self) -> None:
        self._peers: dict[int, Peer] = {}
        self._watching: dict[int, Watching] = {}
        self._proven: set[int] = set()

    def add(self, port: int, peer: Peer, watching: Watching | None = None) -> None:
        """Record the peer of the connection from this port, and who watches it."""
        self._peers[port] = peer
        if watching is not None:
            self._watching[port] = watching

    def remove(self, port: int) -> None:
        """Forget a connection that has ended."""
        self._peers.pop(port, None)
        self._watching.pop(port, None)
        self._proven.discard(port)

    def prove(self, port: int) -> None:
        """Record that a caller with a proven identity uses the connection from this port."""
        if port in self._peers:
            self._proven.add(port)
        watching = self._watching.get(port)
        if watching is not None:
            watching.proven()

    def answered(self, port: int) -> bool:
        """Record an answer on the connection from this port; returns whether it must end now.

        A connection on which nobody has proven an identity gets only a limited number of answers.
        """
        watching = self._watching.get(port)
        if watching is None or port in self._proven:
            return False
        return watching.answered()

    def is_proven(self, port: int) -> bool:
        """Whether an identity was proven on the connection from this port."""
        return port in self._proven

    def at(self, port: int) -> Peer | None:
        """The real peer of the connection from this port."""
        return self._peers.get(port)

    def behind(self, inner: str) -> str:
        """The real peer behind a gRPC peer (`ipv4:127.0.0.1:40000`); `inner` itself if it did not
        come through the front."""
        peer = self._peers.get(port_of(inner))
        return str(peer) if peer else inner


def port_of(inner: str) -> int:
    """The port of a gRPC peer; 0 if it has none."""
    _, _, port = inner.rpartition(":")
    return int(port) if port.isdecimal() else 0
