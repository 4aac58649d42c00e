"""Keeps a copy of the newest complete version of a JSON file that a tool overwrites in place.

Terraform truncates its local state before it writes it, so a kill at that moment would lose the
record of everything it has created. Watching the file preserves the version before.
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
"""Used where the system does not report changes of a file."""


def keep_snapshots(file: Path, kept: Path) -> None:
    """Copy each complete version of `file` to `kept`, for as long as this process lives.

    Runs in a thread, and ignores errors, which must not disturb the tool.
    """
    threading.Thread(target=_keep, args=(file, kept), name="snapshots", daemon=True).start()


def _keep(file: Path, kept: Path) -> None:
    last = b""
    # Watches the folder, since the file may not exist yet.
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
    """A descriptor that reports changes in the folder; None where the system has no such thing, or
    no more of them to give."""
    if sys.platform != "linux":
        return None
    import ctypes  # noqa: PLC0415 - most supervisors do not need it

    libc = ctypes.CDLL(None, use_errno=True)
    # The tool must not inherit it.
    watch = int(libc.inotify_init1(os.O_CLOEXEC))
    events = _IN_MODIFY | _IN_CLOSE_WRITE | _IN_MOVED_TO
    if watch < 0 or libc.inotify_add_watch(watch, os.fsencode(folder), events) < 0:
        return None
    return watch
