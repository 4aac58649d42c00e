"""Limits how much one identity may ask of the gateway: calls per second, polls at a time, and more.

Each process counts for itself, so an identity may use as much at each of several gateways. The
limits are not meant to be exact.
"""

import time
from collections import Counter, OrderedDict
from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from gateway.identity import Identity


class TooMuch(Exception):
    """An identity is over a limit; the message names it and its setting."""


@dataclass(frozen=True)
class Limits:
    """The limits of each identity."""

    calls_per_second: float = 200.0
    calls_at_once: float = 400.0
    """How many calls may come in one burst."""
    polls: int = 20
    """Polls that may wait at the same time; an install worker has two, and briefly four while one
    process takes over from another."""
    bodies: int = 16
    """Calls whose message may be arriving, or be on its way to Temporal, at the same time."""
    bytes_per_second: float = 4 * 1024 * 1024
    bytes_at_once: float = 64 * 1024 * 1024
    """How many bytes of messages may come in one burst."""
    keys_per_second: float = 0.1
    keys_at_once: float = 100
    """How many new process keys an identity may name in one burst; a process that starts names two
    or three. Temporal keeps a queue or a description in memory for each."""


class Bucket:
    """A token bucket: refills by `rate` per second, and holds at most `size`."""

    __slots__ = ("_filled", "_level", "_rate", "_size")

    def __init__(self, rate: float, size: float, now: float) -> None:
        self._rate = rate
        self._size = size
        self._level = size
        self._filled = now

    def take(self, now: float, amount: float = 1) -> bool:
        """Take `amount` and return True, if that much is there."""
        self._fill(now)
        if self._level < amount:
            return False
        self._level -= amount
        return True

    def seconds_until_one(self) -> float:
        """How long until there is one token again, counted from the last `take`."""
        return max(0.0, (1 - self._level) / self._rate)

    def is_full(self, now: float) -> bool:
        """Whether it is full, so that it can be discarded and recreated without a difference."""
        self._fill(now)
        return self._level >= self._size

    def _fill(self, now: float) -> None:
        self._level = min(self._size, self._level + (now - self._filled) * self._rate)
        self._filled = now


class Buckets:
    """A bucket for each key; full ones are discarded once there are many."""

    def __init__(
        self, rate: float, size: float, most: int, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._rate = rate
        self._size = size
        self._most = most
        self._clock = clock
        self._buckets: dict[Hashable, Bucket] = {}

    def __len__(self) -> int:
        return len(self._buckets)

    def take(self, key: Hashable, amount: float = 1) -> bool:
        """Take from the key's bucket; False also if `most` keys already have buckets in use."""
        now = self._clock()
        bucket = self._buckets.get(key)
        if bucket is None:
            if len(self._buckets) >= self._most:
                self._forget_full(now)
            if len(self._buckets) >= self._most:
                return False
            bucket = self._buckets[key] = Bucket(self._rate, self._size, now)
        return bucket.take(now, amount)

    def _forget_full(self, now: float) -> None:
        kept = {key: bucket for key, bucket in self._buckets.items() if not bucket.is_full(now)}
        self._buckets = kept


_IDENTITIES = 100_000
"""How many identities one gateway tracks at a time. Only proven identities are counted."""
_KEYS_REMEMBERED = 200
"""How many process keys of each identity are remembered; those named least recently go first."""


class Allowances:
    """Keeps account of what each identity may still use."""

    def __init__(self, limits: Limits, clock: Callable[[], float] = time.monotonic) -> None:
        self._limits = limits
        self._calls = Buckets(limits.calls_per_second, limits.calls_at_once, _IDENTITIES, clock)
        self._bytes = Buckets(limits.bytes_per_second, limits.bytes_at_once, _IDENTITIES, clock)
        self._keys = Buckets(limits.keys_per_second, limits.keys_at_once, _IDENTITIES, clock)
        self._named: OrderedDict[tuple[str, str], OrderedDict[str, None]] = OrderedDict()
        self._polls: Counter[tuple[str, str]] = Counter()

    @property
    def polls(self) -> int:
        """How many polls of all identities are waiting now."""
        return self._polls.total()

    def call(self, identity: Identity) -> None:
        """Count a call.

        Raises:
            TooMuch: there were too many in the last seconds.
        """
        if not self._calls.take(identity.quota_key):
            raise TooMuch(
                f"{identity.shown} makes more than {self._limits.calls_per_second:g} calls a "
                "second (the gateway's limits.calls_per_second); slow down"
            )

    def body(self, identity: Identity, size: int) -> None:
        """Count the bytes of a message.

        Raises:
            TooMuch: there were too many in the last seconds.
        """
        if not self._bytes.take(identity.quota_key, size):
            raise TooMuch(
                f"{identity.shown} sends more than {self._limits.bytes_per_second:g} bytes a "
                "second (the gateway's limits.bytes_per_second); slow down"
            )

    def key(self, identity: Identity, key: str) -> None:
        """Count a process key that the identity names, unless it has named it recently.

        Raises:
            TooMuch: it has named too many others.
        """
        quota_key = identity.quota_key
        named = self._named.setdefault(quota_key, OrderedDict())
        self._named.move_to_end(quota_key)
        if len(self._named) > _IDENTITIES:
            self._named.popitem(last=False)
        if key not in named and not self._keys.take(quota_key):
            raise TooMuch(
                f"{identity.shown} has started too many processes lately (the gateway's "
                "limits.keys_at_once); wait"
            )
        named[key] = None
        named.move_to_end(key)
        if len(named) > _KEYS_REMEMBERED:
            named.popitem(last=False)

    @contextmanager
    def poll(self, identity: Identity) -> Iterator[None]:
        """Count a poll while it waits.

        Raises:
            TooMuch: too many polls are waiting already.
        """
        key = identity.quota_key
        if self._polls[key] >= self._limits.polls:
            raise TooMuch(
                f"{identity.shown} has {self._limits.polls} polls waiting (the gateway's "
                "limits.polls); run fewer workers with this identity"
            )
        self._polls[key] += 1
        try:
            yield
        finally:
            self._polls[key] -= 1
            if not self._polls[key]:
                del self._polls[key]
