"""The command `exclave-worker`: the install worker, in a process that takes in nothing more.

It stands idle for weeks in a customer's account, beside their own processes.
"""

import ctypes
import sys
from contextlib import suppress

# Temporal's SDK takes in gRPC for Python wherever that is installed, 10 MB of memory, and never
# uses it: it connects by its own core. To say that there is none makes it go on without. It is said
# here and not in `workers.install`, since the gateway cannot do without.
sys.modules.setdefault("grpc", None)  # type: ignore[arg-type]

_M_TRIM_THRESHOLD = -1
"""Of glibc's malloc.h."""

# What is freed goes back to the system, as at the start: else glibc keeps more and more of it, as
# larger pieces are freed. 2 MB after the imports. Other C libraries have no such habit.
with suppress(AttributeError):
    ctypes.CDLL(None).mallopt(_M_TRIM_THRESHOLD, 128 * 1024)

from workers.install import main

__all__ = ["main"]

if __name__ == "__main__":
    main()
