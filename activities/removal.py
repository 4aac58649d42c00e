"""Removes what tools left on this machine, also where they forbade it.

Go makes the folders of its module cache read-only, and a worker that is not root cannot empty those
as they are.
"""

import logging
import os
import shutil
import stat
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

_log = logging.getLogger(__name__)


def remove(path: Path) -> None:
    """Remove a file, a link, or a folder with all that is in it; blocks.

    What cannot be removed stays, and all else goes.

    Raises:
        OSError: something stays, and why.
    """
    if path.is_symlink() or not path.is_dir():
        path.unlink(missing_ok=True)
        return
    _make_writable(path)
    shutil.rmtree(path, ignore_errors=True)
    if path.exists():
        shutil.rmtree(path)


def remove_each(paths: Iterable[Path]) -> list[Path]:
    """Remove them, and tell in the log of each that stays; blocks.

    Returns:
        Those that stay.
    """
    left = []
    for path in paths:
        try:
            remove(path)
        except OSError as error:
            left.append(path)
            _log.warning(
                "%s could not be removed (%s), and stays; everything else goes on. A tool of "
                "another user may have made it: remove it as that user, or as root.",
                path,
                error,
            )
    return left


def _make_writable(folder: Path) -> None:
    """Let the owner list and change the folder and those in it; links are not followed."""
    _open(folder)
    for parent, folders, _ in os.walk(folder):
        for name in folders:
            _open(Path(parent, name))


def _open(folder: Path) -> None:
    # Another user's folder stays as it is, and whether it is in the way will be seen.
    with suppress(PermissionError):
        mode = folder.lstat().st_mode
        if stat.S_ISDIR(mode) and mode & stat.S_IRWXU != stat.S_IRWXU:
            folder.chmod(stat.S_IMODE(mode) | stat.S_IRWXU)
