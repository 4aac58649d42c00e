"""The clock for this machine's own leases: nobody can set it, and it runs while the machine sleeps.

The wall clock may be set while a tool runs, so it cannot measure how long ago the lease was
renewed. All processes of one boot read the same time.
"""

import sys
import time


def steady() -> float:
    """Seconds since a moment that all processes of this boot share."""
    if sys.platform == "linux":
        return time.clock_gettime(time.CLOCK_BOOTTIME)
    # Elsewhere this clock includes sleep, which `time.monotonic` may not.
    return time.clock_gettime(time.CLOCK_MONOTONIC)
