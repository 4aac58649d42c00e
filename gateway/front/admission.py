"""Which connections may be open, and how much strangers may send on theirs.

Where there are too many, one on which nobody has proven who calls gives way to a new one: strangers
can take the place of strangers alone.

Whatever a stranger sends is held in memory behind the front, by servers that cannot bound it: gRPC
keeps headers that do not end, and calls that are taken back. So a connection on which nobody is
proven is read up to a budget, and ends soon after. Who proves themselves gets a new one with each
call. HTTP is without it from then on: its server reads no more than it has room for.
"""

from collections import Counter
from typing import Generic, Protocol, TypeVar

from gateway.front.hello import Speaks
from gateway.front.limits import FrontLimits
from gateway.front.peers import Peers


class Admitted(Protocol):
    """A connection, as far as it is counted."""

    host: str
    """Whom it is counted for."""
    inner_port: int
    speaks: Speaks | None
    taken: int
    """Bytes that were read of a stranger's, or since the last call of who may pass."""

    def abort(self) -> None:
        """End it at once."""


C = TypeVar("C", bound=Admitted)


class Admission(Generic[C]):
    """Counts connections, and what is read of strangers'."""

    def __init__(self, peers: Peers, limits: FrontLimits) -> None:
        """Admit within limits; the peers tell who has proven who they are."""
        self._peers = peers
        self._limits = limits
        self.open: set[C] = set()
        self.refused = 0
        """Connections that were, and that had to give way."""
        self.taken = 0
        """Bytes that were read of all strangers'."""
        self.taken_by_host: Counter[str] = Counter()
        self._by_host: Counter[str] = Counter()
        self._strangers: dict[C, None] = {}
        """Those on which nobody may have proven yet who calls, the oldest first."""
        self._strangers_of: dict[str, dict[C, None]] = {}
        """The same, by host."""

    def admit(self, connection: C) -> bool:
        """Count a new connection, unless there are too many, and all of them may pass."""
        host, limits = connection.host, self._limits
        if self._by_host[host] >= limits.connections_per_address:
            full: dict[C, None] | None = self._strangers_of.get(host, {})
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

    def _oldest(self, strangers: dict[C, None]) -> C | None:
        """The oldest connection on which nobody has proven yet who calls."""
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
        """How many bytes of a stranger's may still be read."""
        limits = self._limits
        need = (
            self.taken > limits.strangers_bytes
            or self.taken_by_host[connection.host] > limits.strangers_bytes_per_address
        )
        less = need or connection.speaks is Speaks.GRPC
        most = limits.stranger_call_bytes if less else limits.stranger_bytes
        return max(0, most - connection.taken)

    def take(self, connection: C, count: int) -> None:
        """So much was read of a stranger's."""
        connection.taken += count
        self.taken += count
        self.taken_by_host[connection.host] += count

    def give_back(self, connection: C) -> None:
        """Whoever it was of has proven who they are, or is gone."""
        host, taken, connection.taken = connection.host, connection.taken, 0
        self.taken -= taken
        self.taken_by_host[host] -= taken
        if not self.taken_by_host[host]:
            del self.taken_by_host[host]

    def forget(self, connection: C) -> None:
        """A connection has ended, or has to give way."""
        if connection in self.open:
            self.open.remove(connection)
            self._no_stranger(connection)
            self.give_back(connection)
            self._by_host[connection.host] -= 1
            if not self._by_host[connection.host]:
                del self._by_host[connection.host]
