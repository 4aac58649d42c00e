"""Waiting longer after each try that failed, up to a bound."""

from collections.abc import Iterator
from dataclasses import dataclass


def backoff(first: float, longest: float) -> Iterator[float]:
    """Seconds between one try and the next, doubled each time, without end."""
    wait = first
    while True:
        yield wait
        wait = min(wait * 2, longest)


@dataclass(frozen=True)
class Patience:
    """How long something is tried."""

    seconds: float
    first_wait_seconds: float
    longest_wait_seconds: float

    def waits(self) -> Iterator[float]:
        """Seconds between one try and the next."""
        return backoff(self.first_wait_seconds, self.longest_wait_seconds)
