"""The customer's pause: a file in the data folder, for which the worker looks."""

import os
from pathlib import Path

_FILE = "paused"


def is_paused(data: Path) -> bool:
    """Whether the worker with this data folder must not take work."""
    return (data / _FILE).exists()


def pause(data: Path) -> bool:
    """Make the worker take no more work; returns False if it is paused already.

    Raises:
        OSError: the folder cannot be written.
    """
    try:
        os.close(os.open(data / _FILE, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o644))
    except FileExistsError:
        return False
    return True


def resume(data: Path) -> bool:
    """Make the worker take work again; returns False if it was not paused.

    Raises:
        OSError: the folder cannot be written.
    """
    try:
        (data / _FILE).unlink()
    except FileNotFoundError:
        return False
    return True
