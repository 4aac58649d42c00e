"""How long a key is waited for: a payload may name one that nobody has, so not for ever.

A key that is missing is mostly on its way: its file is brought to one process after the other. So
whoever meets it fails, and is tried again. But a customer's worker may name a key that it made up,
and its run would be tried again without end. Which of the two it is only time tells.
"""

import hashlib
import time
from collections.abc import Callable
from typing import Final

PATIENCE_SECONDS: Final = 15 * 60.0
_REMEMBERED: Final = 4096


class KeyPatience:
    """Since when this process waits for the keys of payloads."""

    def __init__(
        self,
        seconds: float = PATIENCE_SECONDS,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Wait for nothing yet.

        Args:
            seconds: How long each payload's key is waited for.
            clock: In seconds; for tests.
        """
        self._seconds = seconds
        self._clock = clock
        self._since: dict[bytes, float] = {}

    def is_over(self, sealed: bytes) -> bool:
        """Whether the payload was met without its key for so long; begins to wait for it.

        Args:
            sealed: The payload's ciphertext, which is another one in each payload.
        """
        which = hashlib.sha256(sealed).digest()
        if which not in self._since and len(self._since) >= _REMEMBERED:
            del self._since[next(iter(self._since))]
        now = self._clock()
        return now - self._since.setdefault(which, now) >= self._seconds
