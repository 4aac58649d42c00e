"""How often an address may call without a credential: a bucket of tokens for each."""

import time
from collections import OrderedDict
from collections.abc import Callable

from gateway.front.peers import whose
from gateway.limits import Bucket

_REMEMBERED = 10_000
"""Addresses; the one that called longest ago is forgotten first, and has a full bucket then."""


class AddressLimits:
    """Lets each address call a number of times at once, and then so many times a second."""

    def __init__(
        self, burst: int, per_second: float, clock: Callable[[], float] = time.monotonic
    ) -> None:
        """Set both; behind a proxy that hides addresses they hold for all callers together."""
        self._burst = burst
        self._per_second = per_second
        self._clock = clock
        self._buckets: OrderedDict[str, Bucket] = OrderedDict()

    def wait_seconds(self, address: str) -> float:
        """Take one call of the address; 0 if it may, else after how long it may."""
        now, caller = self._clock(), whose(address)
        bucket = self._buckets.setdefault(caller, Bucket(self._per_second, self._burst, now))
        self._buckets.move_to_end(caller)
        if len(self._buckets) > _REMEMBERED:
            self._buckets.popitem(last=False)
        return 0.0 if bucket.take(now) else bucket.seconds_until_one()
