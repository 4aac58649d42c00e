"""Keeps unneeded modules out of an install worker's memory; imported before everything else.

An install worker is idle for weeks in a customer's account, beside the customer's own processes.
"""

import ctypes
import sys
from contextlib import suppress
from types import ModuleType

# Temporal's SDK imports gRPC for Python (10 MB) if it is installed, but never uses it, since it
# connects by its own core. If the import fails, the SDK goes on without it. Only
# `workers.exclave_worker` may import this module, since the gateway needs gRPC.
sys.modules.setdefault("grpc", None)  # type: ignore[arg-type]

# The SDK also imports the messages of Temporal Cloud's own API (1 MB), which no worker calls.
_CLOUD = "temporalio.api.cloud.cloudservice.v1"
sys.modules.setdefault(_CLOUD, ModuleType(_CLOUD))

_M_TRIM_THRESHOLD = -1
"""From glibc's malloc.h."""

# Return freed memory to the OS; glibc otherwise raises its trim threshold whenever larger pieces
# are freed. This saves 2 MB after the imports. Other C libraries do not need it.
with suppress(AttributeError):
    ctypes.CDLL(None).mallopt(_M_TRIM_THRESHOLD, 128 * 1024)
