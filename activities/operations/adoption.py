"""Makes the supervisor adopt the daemons that its tool leaves behind (Linux only).

A daemon such as `ssh-agent` forks twice, opens its own session and closes everything it inherited.
After that, only its parent shows whose process it is, so its parent should be the supervisor.
"""

import os
import sys
from collections.abc import Collection
from contextlib import suppress
from pathlib import Path
from typing import Final

from activities.operations.processes import children

_SET_CHILD_SUBREAPER: Final = 36


def adopt_orphans() -> None:
    """Make this process the parent of each of its descendants whose own parent has ended.

    Raises:
        OSError: the system refuses.
    """
    if sys.platform != "linux":
        return
    # Imported here because a worker loads this module too, and never needs ctypes.
    import ctypes  # noqa: PLC0415

    prctl = ctypes.CDLL(None, use_errno=True).prctl
    prctl.argtypes = [ctypes.c_int, *[ctypes.c_ulong] * 4]
    if prctl(_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))


def reap_orphans(own: Collection[int]) -> None:
    """Collect the exit status of each adopted process that has ended, so that no zombie stays.

    Args:
        own: This process's own children, whose exit status is collected elsewhere.
    """
    for pid in _children_of_main_thread():
        if pid not in own:
            with suppress(ChildProcessError):
                os.waitpid(pid, os.WNOHANG)


def _children_of_main_thread() -> list[int]:
    """Includes adopted processes, but not what a library started from another thread."""
    me = os.getpid()
    try:
        return [int(pid) for pid in Path(f"/proc/{me}/task/{me}/children").read_text().split()]
    except FileNotFoundError:  # a kernel built without these files
        return children(me)
