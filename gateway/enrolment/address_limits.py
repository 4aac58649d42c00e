"""Limits how often an address may call without a credential: a token bucket for each."""

import time
from collections import OrderedDict
from collections.abc import Callable

from gateway.front.peers import whose
from gateway.limits import Bucket

_REMEMBERED = 10_000
"""How many addresses are remembered; the one that called longest ago is forgotten first, which
means that its bucket is full again."""


class AddressLimits:
    """Lets each address make `burst` calls at once, and then `per_second` calls a second."""

    def __init__(
        self, burst: int, per_second: float, clock: Callable[[], float] = time.monotonic
    ) -> None:
        """Set the limits; behind a proxy that hides addresses, all callers share them."""
        self._burst = burst
        self._per_second = per_second
        self._clock = clock
        self._buckets: OrderedDict[str, Bucket] = OrderedDict()

    def wait_seconds(self, address: str) -> float:
        """Count a call from the address: 0 if it may pass, else how long it must wait."""
        now, caller = self._clock(), whose(address)
        bucket = self._buckets.setdefault(caller, Bucket(self._per_second, self._burst, now))
        self._buckets.move_to_end(caller)
        if len(self._buckets) > _REMEMBERED:
            self._buckets.popitem(last=False)
        return 0.0 if bucket.take(now) else bucket.seconds_until_one()
