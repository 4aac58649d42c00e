"""What the process of an install worker does without; imported before everything else of it.

It stands idle for weeks in a customer's account, beside their own processes.
"""

import ctypes
import sys
from contextlib import suppress
from types import ModuleType

# Temporal's SDK takes in gRPC for Python wherever that is installed, 10 MB of memory, and never
# uses it: it connects by its own core. To say that there is none makes it go on without. Nothing
# but `workers.exclave_worker` may import this, since the gateway cannot do without.
sys.modules.setdefault("grpc", None)  # type: ignore[arg-type]

# It takes in the messages of Temporal Cloud's own API, too, 1 MB, and looks at them only when that
# is called; no worker does.
_CLOUD = "temporalio.api.cloud.cloudservice.v1"
sys.modules.setdefault(_CLOUD, ModuleType(_CLOUD))

_M_TRIM_THRESHOLD = -1
"""Of glibc's malloc.h."""

# What is freed goes back to the system, as at the start: else glibc keeps more and more of it, as
# larger pieces are freed. 2 MB after the imports. Other C libraries have no such habit.
with suppress(AttributeError):
    ctypes.CDLL(None).mallopt(_M_TRIM_THRESHOLD, 128 * 1024)
