"""Counts what the gateway let through and denied, and logs denials as JSON lines.

A line describes one denial. To keep anybody from filling the disk, lines are limited per second for
each identity (or each address, if no identity was proven) and for all callers together. Denials
beyond that are counted, and the caller's next line states how many were left out.
"""

import json
import logging
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field

from apps.display_text import shown
from gateway.identity import Identity
from gateway.limits import Buckets

_log = logging.getLogger(__name__)

_LINES_PER_SECOND = 1.0
_LINES_AT_ONCE = 10.0
_CALLERS = 1_000
"""How many callers are tracked; denials of further ones are only counted."""
_ALL_LINES_PER_SECOND = 50.0
_ALL_LINES_AT_ONCE = 500.0
_SHOWN = 200

OTHER_RPC = "other"
"""Counts every method that is not allowed, since callers may invent any number of names."""


@dataclass
class Counters:
    """Counts of this process since its start."""

    calls: Counter[str] = field(default_factory=Counter)
    """Calls that were let through, by RPC."""
    denials: Counter[tuple[str, str]] = field(default_factory=Counter)
    """Calls that were denied, by RPC (or `OTHER_RPC`) and status."""
    unlogged: int = 0
    """Denials that were counted and not logged."""


class Audit:
    """Counts calls and denials, and logs denials."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self.counters = Counters()
        self._each = Buckets(_LINES_PER_SECOND, _LINES_AT_ONCE, _CALLERS, clock)
        self._all = Buckets(_ALL_LINES_PER_SECOND, _ALL_LINES_AT_ONCE, 1, clock)
        self._unlogged: Counter[str] = Counter()

    def allowed(self, rpc: str) -> None:
        """Count a call that was let through."""
        self.counters.calls[rpc] += 1

    def denied(  # noqa: PLR0913 - the fields of the line
        self,
        *,
        identity: Identity | None,
        method: str,
        counted_as: str,
        status: str,
        reason: str,
        peer: str,
    ) -> None:
        """Count a denial, and log it unless this caller causes too many lines.

        Args:
            identity: The caller, if its identity was proven.
            method: What was called, as the caller wrote it.
            counted_as: The RPC's name in the counters.
            status: The status of the answer, as gRPC names it.
            reason: The message that the caller was sent.
            peer: The address that the call came from.
        """
        self.counters.denials[counted_as, status] += 1
        host, _, _ = peer.rpartition(":")
        caller = f"{identity.org} {identity.shown}" if identity else host
        if not (self._each.take(caller) and self._all.take("")):
            self.counters.unlogged += 1
            if caller in self._unlogged or len(self._unlogged) < _CALLERS:
                self._unlogged[caller] += 1
            return
        line: dict[str, str | int] = {
            "event": "denied",
            "org": identity.org if identity else "",
            "identity": identity.shown if identity else "",
            "key": identity.key if identity else "",
            "method": method[:_SHOWN],
            "status": status,
            "reason": reason[:_SHOWN],
            "peer": peer,
        }
        unlogged = self._unlogged.pop(caller, 0)
        if unlogged:
            line["untold_before"] = unlogged
        _log.warning("%s", shown(json.dumps(line)))
