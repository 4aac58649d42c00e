"""What a tool left in the background: it is no part of how the tool ended, and is ended after it.

A process is a tool's if it holds the lock of the tool's tree, is in the supervisor's session, or
descends from the supervisor, which adopts whatever loses its parent. One that is none of these was
started by another service, as `systemctl start` has them started.
"""

import os
from pathlib import Path
from typing import Final

from activities.operations.processes import LINUX, Left, left_running
from activities.operations.spec import OUTPUT_FILE
from wire.private_files import open_private

GRACE_SECONDS: Final = 5.0
"""How long what a tool left has to end by itself, once the tool's own exit is saved. Much that is
left is about to: the end of a pipe, a provider's plugin."""

_MOST_NAMED: Final = 20


def tell_of_leftovers(folder: Path, tree_lock: Path, session: int | None) -> None:
    """Name in the run's log what the tool left running, and what becomes of it.

    Args:
        folder: The run's.
        tree_lock: Held by the tool's processes.
        session: The supervisor's; None if it is gone.

    Raises:
        OSError: the log cannot be written.
    """
    left = left_running(tree_lock, session)
    if left or not LINUX:
        _say(folder, "left running in the background, and ended now", left)


def tell_of_who_stays(folder: Path, tree_lock: Path, session: int | None) -> None:
    """Name in the run's log what could not be ended; arguments and errors as for what is."""
    left = left_running(tree_lock, session)
    if left:
        _say(folder, "left running in the background, and cannot be ended by this user", left)


def _say(folder: Path, what: str, left: list[Left]) -> None:
    named = [_named(one) for one in left[:_MOST_NAMED]] or ["what cannot be named here"]
    more = f" and {len(left) - _MOST_NAMED} more" if len(left) > _MOST_NAMED else ""
    line = f"\n-- {what}: {', '.join(named)}{more}\n"
    descriptor = open_private(folder / OUTPUT_FILE, os.O_WRONLY | os.O_APPEND)
    with os.fdopen(descriptor, "wb") as log:
        log.write(line.encode())


def _named(one: Left) -> str:
    """Its arguments may hold secrets; its name is its own to choose, and may hold anything."""
    name = "".join(c if c.isprintable() else "?" for c in one.name)
    return f"{name} (pid {one.pid})"
