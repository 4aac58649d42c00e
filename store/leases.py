"""Leases: which machine works on a subject (a component or an action) of the install.

A lease is one object, `leases/<subject>.json`. It keeps other machines away while a tool may be
alive on its holder; among the processes of one machine, file locks decide. Times are epoch seconds
by each machine's own clock, so clocks must agree within `LEASE_MARGIN_SECONDS`.
"""

import contextlib
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Final

from store.documents import Document, change_document, read_document, tries
from store.errors import Conflict, Malformed, StoreError
from store.interface import Store
from store.machine import Machine

_PREFIX: Final = "leases/"
_SUFFIX: Final = ".json"

LEASE_SECONDS: Final = 90.0
"""How long a lease lasts without renewal; longer than an activity's heartbeat timeout."""

RENEW_SECONDS: Final = 20.0
"""How often a lease is renewed."""

LEASE_MARGIN_SECONDS: Final = 15.0
"""How long before the lease expires its holder stops the tool, if it cannot renew."""


@dataclass(frozen=True)
class Lease:
    """The holder of a subject."""

    key: str
    """The operation that it was taken for."""
    machine: str
    boot: str
    expires_at: float
    since: float


class LeaseTaken(StoreError):
    """This machine no longer holds the lease."""


@dataclass(frozen=True)
class Leases:
    """The leases in a store, from the view of one machine."""

    store: Store
    machine: Machine
    clock: Callable[[], float] = time.time
    seconds: float = LEASE_SECONDS

    def acquire(self, subject: str, key: str) -> Lease:
        """Takes the lease if it is free, expired, or this machine's; returns the current lease.

        The caller checks `is_own`, and waits until `expires_at` if another machine holds it. A
        lease from before this machine's last boot is taken over, since no tool can have survived.
        """
        standing: list[Lease] = []

        def take(document: Document | None) -> Document | None:
            held = _parse(subject, document) if document else None
            now = self.clock()
            if held and held.machine != self.machine.id and held.expires_at > now:
                standing[:] = [held]
                return None
            same = held and self.is_own(held) and held.key == key
            standing[:] = [self._lease(key, since=held.since if held and same else now)]
            return asdict(standing[0])

        change_document(self.store, _key(subject), take)
        return standing[0]

    def renew(self, subject: str) -> Lease:
        """Extends this machine's lease and returns it; raises LeaseTaken and StoreError."""
        renewed: list[Lease] = []

        def prolong(document: Document | None) -> Document:
            held = _parse(subject, document) if document else None
            if held is None or not self.is_own(held):
                raise LeaseTaken(_whose(subject, held))
            renewed[:] = [self._lease(held.key, since=held.since)]
            return asdict(renewed[0])

        change_document(self.store, _key(subject), prolong)
        return renewed[0]

    def release(self, subject: str) -> None:
        """Ends this machine's lease; does nothing if it holds none."""
        for _ in tries():
            found = read_document(self.store, _key(subject))
            if found is None or not self.is_own(_parse(subject, found[0])):
                return
            # A renewal that is still under way may intervene.
            with contextlib.suppress(Conflict):
                self.store.delete(_key(subject), if_match=found[1])
                return
        raise Conflict(_key(subject))

    def others(self) -> dict[str, Lease]:
        """The unexpired leases of other machines, by subject."""
        now, found = self.clock(), dict[str, Lease]()
        for key in self.store.list(_PREFIX):
            subject = key.removeprefix(_PREFIX).removesuffix(_SUFFIX)
            read = read_document(self.store, key)
            lease = _parse(subject, read[0]) if read else None
            if lease and lease.machine != self.machine.id and lease.expires_at > now:
                found[subject] = lease
        return found

    def is_own(self, lease: Lease) -> bool:
        """Whether this machine, in this boot, holds the lease."""
        return (lease.machine, lease.boot) == (self.machine.id, self.machine.boot)

    def _lease(self, key: str, since: float) -> Lease:
        expires = self.clock() + self.seconds
        return Lease(key, self.machine.id, self.machine.boot, expires, since)


def _key(subject: str) -> str:
    return f"{_PREFIX}{subject}{_SUFFIX}"


def _parse(subject: str, document: Document) -> Lease:
    try:
        return Lease(
            key=str(document["key"]),
            machine=str(document["machine"]),
            boot=str(document["boot"]),
            expires_at=float(document["expires_at"]),
            since=float(document["since"]),
        )
    except (KeyError, TypeError, ValueError) as error:
        raise Malformed(f"{_key(subject)} is not a lease: {error!r}; delete it") from error


def _whose(subject: str, held: Lease | None) -> str:
    if held is None:
        return f"the lease on {subject} is gone: another machine took it and released it"
    return f"the lease on {subject} was taken by machine {held.machine} for {held.key}"
