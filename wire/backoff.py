"""Waits that grow with each failed attempt, up to a limit."""

from collections.abc import Iterator
from dataclasses import dataclass


def backoff(first: float, longest: float) -> Iterator[float]:
    """Seconds between attempts: doubled each time up to `longest`, endlessly."""
    wait = first
    while True:
        yield wait
        wait = min(wait * 2, longest)


@dataclass(frozen=True)
class Patience:
    """How long to retry, and how often."""

    seconds: float
    first_wait_seconds: float
    longest_wait_seconds: float

    def waits(self) -> Iterator[float]:
        """Seconds between attempts."""
        return backoff(self.first_wait_seconds, self.longest_wait_seconds)
