"""A clock that nobody sets, and that goes on while the machine sleeps: by it one's lease lasts.

The wall clock may be set while a tool runs, and says nothing of how long ago the lease was renewed.
All processes of one boot read the same time.
"""

import sys
import time


def steady() -> float:
    """Seconds since a moment that all processes of this boot share."""
    if sys.platform == "linux":
        return time.clock_gettime(time.CLOCK_BOOTTIME)
    # Elsewhere this one counts sleep, as `time.monotonic` need not.
    return time.clock_gettime(time.CLOCK_MONOTONIC)
