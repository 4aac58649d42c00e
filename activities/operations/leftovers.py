"""Processes that a tool left in the background are named in its log, and ended.

They do not affect how the tool's own end is reported. A process belongs to the tool if it holds the
tree lock, is in the supervisor's session, or descends from the supervisor, which adopts orphans.
Anything else was started by another service, for example through `systemctl start`.
"""

import os
from pathlib import Path
from typing import Final

from activities.operations.processes import LINUX, LeftProcess, left_running
from activities.operations.spec import OUTPUT_FILE
from wire.private_files import open_private

GRACE_SECONDS: Final = 5.0
"""How long leftover processes may take to end by themselves, once the tool's own exit is saved.
Many are about to end anyway: the last command of a pipe, a provider's plugin."""

_MOST_NAMED: Final = 20


def log_leftovers(folder: Path, tree_lock: Path, session: int | None) -> None:
    """Name the processes that the tool left running in the run's log; they are about to be ended.

    Args:
        folder: The run's folder.
        tree_lock: The lock that the tool's processes hold.
        session: The supervisor's session; None if the supervisor is gone.

    Raises:
        OSError: the log cannot be written.
    """
    left = left_running(tree_lock, session)
    if left or not LINUX:
        _write_line(folder, "left running in the background, and ended now", left)


def log_survivors(folder: Path, tree_lock: Path, session: int | None) -> None:
    """Name the processes that could not be ended in the run's log; otherwise as `log_leftovers`."""
    left = left_running(tree_lock, session)
    if left:
        _write_line(
            folder, "left running in the background, and cannot be ended by this user", left
        )


def _write_line(folder: Path, what: str, left: list[LeftProcess]) -> None:
    named = [_named(one) for one in left[:_MOST_NAMED]] or ["processes that cannot be named here"]
    more = f" and {len(left) - _MOST_NAMED} more" if len(left) > _MOST_NAMED else ""
    line = f"\n-- {what}: {', '.join(named)}{more}\n"
    descriptor = open_private(folder / OUTPUT_FILE, os.O_WRONLY | os.O_APPEND)
    with os.fdopen(descriptor, "wb") as log:
        log.write(line.encode())


def _named(one: LeftProcess) -> str:
    """Without arguments, which may hold secrets; a process may give itself any name."""
    name = "".join(c if c.isprintable() else "?" for c in one.name)
    return f"{name} (pid {one.pid})"
