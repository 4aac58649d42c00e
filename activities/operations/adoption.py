"""Keeps whatever a tool starts a descendant of its supervisor, however it leaves its own parents.

A daemon, such as `ssh-agent`, forks twice, has a session of its own, and closes all that it
inherited: nothing says any more whose it is, but for the parent that the system gives it. On Linux
only.
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
        OSError: the system refuses that.
    """
    if sys.platform != "linux":
        return
    # Not at the top: a worker, which loads this room too, has no need of it.
    import ctypes  # noqa: PLC0415

    prctl = ctypes.CDLL(None, use_errno=True).prctl
    prctl.argtypes = [ctypes.c_int, *[ctypes.c_ulong] * 4]
    if prctl(_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))


def bury_orphans(own: Collection[int]) -> None:
    """Take the exit status of each adopted process that has ended: otherwise it stays a zombie.

    Args:
        own: The children that are waited for elsewhere.
    """
    for pid in _children_of_main_thread():
        if pid not in own:
            with suppress(ChildProcessError):
                os.waitpid(pid, os.WNOHANG)


def _children_of_main_thread() -> list[int]:
    """The adopted are among them; what a library starts in a thread of its own is not."""
    me = os.getpid()
    try:
        return [int(pid) for pid in Path(f"/proc/{me}/task/{me}/children").read_text().split()]
    except FileNotFoundError:  # a kernel that was built without them
        return children(me)
