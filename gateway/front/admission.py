"""Limits how many connections may be open, and how much strangers may send.

A stranger's connection is one on which nobody has proven an identity yet. If there are too many
connections, the oldest stranger's is closed for a new one: strangers can displace only strangers.

The servers behind the front keep in memory whatever a stranger sends, and cannot limit it: gRPC
keeps endless headers, and cancelled calls. So a stranger's connection is read only up to a budget,
and ends soon after. A proven gRPC caller gets a new budget with each call. A proven HTTP caller has
none, since the HTTP server reads no more than it has room for.
"""

from collections import Counter
from typing import Generic, Protocol, TypeVar

from gateway.front.hello import Speaks
from gateway.front.limits import FrontLimits
from gateway.front.peers import Peers


class Admitted(Protocol):
    """A connection, as admission sees it."""

    host: str
    """The key of the address under which it is counted."""
    inner_port: int
    speaks: Speaks | None
    taken: int
    """Bytes that were read: of a stranger, or since the last call of a proven caller."""

    def abort(self) -> None:
        """End the connection at once."""


C = TypeVar("C", bound=Admitted)


class Admission(Generic[C]):
    """Counts connections, and the bytes that are read from strangers."""

    def __init__(self, peers: Peers, limits: FrontLimits) -> None:
        """Admit within the limits; `peers` knows on which connections an identity was proven."""
        self._peers = peers
        self._limits = limits
        self.open: set[C] = set()
        self.taken = 0
        """Bytes that were read from all strangers."""
        self.taken_by_host: Counter[str] = Counter()
        self._by_host: Counter[str] = Counter()
        self._strangers: dict[C, None] = {}
        """Connections that may be strangers', the oldest first."""
        self._strangers_of: dict[str, dict[C, None]] = {}
        """The same, by host."""

    def admit(self, connection: C) -> bool:
        """Count a new connection; refused if there are too many, and none is a stranger's."""
        host, limits = connection.host, self._limits
        if self._by_host[host] >= limits.connections_per_address:
            full: dict[C, None] | None = self._strangers_of.get(host, {})
        else:
            full = self._strangers if len(self.open) >= limits.connections else None
        if full is not None:
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

    def _oldest(self, strangers: dict[C, None]) -> C | None:
        """The oldest stranger's connection."""
        while (one := next(iter(strangers), None)) is not None:
            if not self._peers.is_proven(one.inner_port):
                return one
            self._no_stranger(one)
        return None

    def _no_stranger(self, connection: C) -> None:
        self._strangers.pop(connection, None)
        of_host = self._strangers_of.get(connection.host, {})
        of_host.pop(connection, None)
        if not of_host:
            self._strangers_of.pop(connection.host, None)

    def left_of(self, connection: C) -> int:
        """How many bytes may still be read on a stranger's connection."""
        limits = self._limits
        need = (
            self.taken > limits.strangers_bytes
            or self.taken_by_host[connection.host] > limits.strangers_bytes_per_address
        )
        less = need or connection.speaks is Speaks.GRPC
        most = limits.stranger_call_bytes if less else limits.stranger_bytes
        return max(0, most - connection.taken)

    def take(self, connection: C, count: int) -> None:
        """Count bytes that were read on a stranger's connection."""
        connection.taken += count
        self.taken += count
        self.taken_by_host[connection.host] += count

    def give_back(self, connection: C) -> None:
        """Free the bytes of a connection whose caller has proven an identity, or is gone."""
        host, taken, connection.taken = connection.host, connection.taken, 0
        self.taken -= taken
        self.taken_by_host[host] -= taken
        if not self.taken_by_host[host]:
            del self.taken_by_host[host]

    def forget(self, connection: C) -> None:
        """Stop counting a connection that has ended, or is closed for a new one."""
        if connection in self.open:
            self.open.remove(connection)
            self._no_stranger(connection)
            self.give_back(connection)
            self._by_host[connection.host] -= 1
            if not self._by_host[connection.host]:
                del self._by_host[connection.host]
