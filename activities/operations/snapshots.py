"""Keeps the newest whole version of a JSON file that a tool writes in place.

Terraform empties its local state before it writes it anew, so a kill at that instant leaves nothing
of what it had made so far. Whoever watches the file has what was written before.
"""

import contextlib
import json
import os
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from store.files import replace_private
from store.left_files import NoFileLeft, read_left

_IN_MODIFY: Final = 0x2
_IN_CLOSE_WRITE: Final = 0x8
_IN_MOVED_TO: Final = 0x80
_LOOK_AGAIN_SECONDS: Final = 0.02
"""Where the system does not tell of changes."""


def keep_snapshots(file: Path, kept: Path) -> None:
    """Keep a copy of each whole version of `file` as `kept`, for as long as this process lives.

    A thread does; what goes wrong in it is no reason to disturb the tool.
    """
    threading.Thread(target=_keep, args=(file, kept), name="snapshots", daemon=True).start()


def _keep(file: Path, kept: Path) -> None:
    last = b""
    # The folder is watched: the file may not be there yet.
    for _ in _changes(file.parent):
        with contextlib.suppress(OSError, ValueError, NoFileLeft):
            content = read_left(file)
            if content != last and isinstance(json.loads(content), dict):
                replace_private(
                    kept, content, incoming=kept.with_name(f".{kept.name}"), may_take_reserve=True
                )
                last = content


def _changes(folder: Path) -> Iterator[None]:
    watch = _watch(folder)
    while True:
        yield
        if watch is None:
            time.sleep(_LOOK_AGAIN_SECONDS)
        else:
            os.read(watch, 64 * 1024)


def _watch(folder: Path) -> int | None:
    """What tells of changes in the folder; None where the system does not, or to so many."""
    if sys.platform != "linux":
        return None
    import ctypes  # noqa: PLC0415 - most supervisors have no use for it

    libc = ctypes.CDLL(None, use_errno=True)
    # Not for the tool to inherit.
    watch = int(libc.inotify_init1(os.O_CLOEXEC))
    events = _IN_MODIFY | _IN_CLOSE_WRITE | _IN_MOVED_TO
    if watch < 0 or libc.inotify_add_watch(watch, os.fsencode(folder), events) < 0:
        return None
    return watch
