"""What the gateway let through and what it denied: counted always, told as JSON lines in measure.

A line is for one denial. Each identity (or, where none was proven, each address) may cause a few
lines a second and all of them together some more, so that nobody can fill the disk by being denied.
What was not told is counted, and the next line of the same caller says how many that were.
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
"""How many callers are told apart; beyond that, new ones are only counted."""
_ALL_LINES_PER_SECOND = 50.0
_ALL_LINES_AT_ONCE = 500.0
_SHOWN = 200

OTHER_RPC = "other"
"""How a method is counted that is none of the allowed ones: callers choose its name freely."""


@dataclass
class Counters:
    """Of this process, since it began."""

    calls: Counter[str] = field(default_factory=Counter)
    """Calls that were let through, by RPC."""
    denials: Counter[tuple[str, str]] = field(default_factory=Counter)
    """Calls that were denied, by RPC (or `OTHER_RPC`) and status."""
    untold: int = 0
    """Denials that were counted and not logged."""


class Audit:
    """Counts, and tells of denials."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self.counters = Counters()
        self._each = Buckets(_LINES_PER_SECOND, _LINES_AT_ONCE, _CALLERS, clock)
        self._all = Buckets(_ALL_LINES_PER_SECOND, _ALL_LINES_AT_ONCE, 1, clock)
        self._untold: Counter[str] = Counter()

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
        """Count a denial, and tell of it unless this caller causes too many lines.

        Args:
            identity: Who called, if that was proven.
            method: What was called, as the caller wrote it.
            counted_as: The RPC's name in the counters.
            status: Of the answer, in gRPC's words.
            reason: What the caller was told.
            peer: The address that the call came from.
        """
        self.counters.denials[counted_as, status] += 1
        host, _, _ = peer.rpartition(":")
        caller = f"{identity.org} {identity.shown}" if identity else host
        if not (self._each.take(caller) and self._all.take("")):
            self.counters.untold += 1
            if caller in self._untold or len(self._untold) < _CALLERS:
                self._untold[caller] += 1
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
        untold = self._untold.pop(caller, 0)
        if untold:
            line["untold_before"] = untold
        _log.warning("%s", shown(json.dumps(line)))
