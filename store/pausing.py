"""The customer's pause: a file in the worker's data folder, which the worker looks at."""

import os
from pathlib import Path

_FILE = "paused"


def is_paused(data: Path) -> bool:
    """Whether the worker of this data folder shall take no work."""
    return (data / _FILE).exists()


def pause(data: Path) -> bool:
    """Have the worker take no more work; False where it is so already.

    Raises:
        OSError: the folder cannot be written.
    """
    try:
        os.close(os.open(data / _FILE, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o644))
    except FileExistsError:
        return False
    return True


def resume(data: Path) -> bool:
    """Have the worker take work again; False where it was not paused.

    Raises:
        OSError: the folder cannot be written.
    """
    try:
        (data / _FILE).unlink()
    except FileNotFoundError:
        return False
    return True
