"""Limits how long to wait for a missing key, since a payload may name one that nobody has.

Usually a missing key will arrive soon: its file is distributed to one process after another. So
whatever needs it fails, and is retried. But a customer's worker may also invent a key's name, and
then its run would be retried for ever. Only time can distinguish the two.
"""

import hashlib
import time
from collections.abc import Callable
from typing import Final

PATIENCE_SECONDS: Final = 15 * 60.0
_REMEMBERED: Final = 4096


class KeyPatience:
    """Remembers since when this process has been waiting for the keys of payloads."""

    def __init__(
        self,
        seconds: float = PATIENCE_SECONDS,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Begin without waiting for any key.

        Args:
            seconds: How long to wait for each payload's key.
            clock: In seconds; for tests.
        """
        self._seconds = seconds
        self._clock = clock
        self._since: dict[bytes, float] = {}

    def is_over(self, sealed: bytes) -> bool:
        """Whether the wait for this payload's key is over; the first call starts it.

        Args:
            sealed: The payload's ciphertext, which is unique to it.
        """
        which = hashlib.sha256(sealed).digest()
        if which not in self._since and len(self._since) >= _REMEMBERED:
            del self._since[next(iter(self._since))]
        now = self._clock()
        return now - self._since.setdefault(which, now) >= self._seconds
