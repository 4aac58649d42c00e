"""Removes what tools left on this machine, also where they forbade it.

Go makes the folders of its module cache read-only, and a worker that is not root cannot empty those
as they are.
"""

import errno
import logging
import os
import re
import shutil
import stat
import subprocess
import sys
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

_log = logging.getLogger(__name__)

_ESCAPED = re.compile(r"\\([0-7]{3})")
"""A blank and the like, as the list of mounts has them."""

_MOST_SHOWN = 300
"""Characters of what a program says."""


def remove(path: Path) -> None:
    """Remove a file, a link, or a folder with all that is in it; blocks.

    What cannot be removed stays, and all else goes; but nothing of a folder in which a file system
    is mounted.

    Raises:
        OSError: something stays, and why.
    """
    if path.is_symlink() or not path.is_dir():
        path.unlink(missing_ok=True)
        return
    _require_no_mount(path)
    try:
        _make_writable(path)
        shutil.rmtree(path, ignore_errors=True)
        if path.exists():
            shutil.rmtree(path)
    except (RecursionError, OSError) as error:
        if isinstance(error, OSError) and error.errno != errno.ENAMETOOLONG:
            raise
        _remove_deep(path)


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


def _require_no_mount(folder: Path) -> None:
    """What a script mounted there and left may be all that the customer has elsewhere."""
    if sys.platform != "linux":
        return
    inside = f"{folder.resolve()}{os.sep}"
    for line in Path("/proc/self/mountinfo").read_text(errors="surrogateescape").split("\n"):
        fields = line.split(" ")
        mounted = _ESCAPED.sub(_unescaped, fields[4]) if len(fields) > 4 else ""
        if mounted.startswith(inside):
            raise OSError(errno.EBUSY, "a file system is mounted there: unmount it", mounted)


def _unescaped(escaped: re.Match[str]) -> str:
    return os.fsdecode(bytes([int(escaped[1], 8)]))


def _remove_deep(folder: Path) -> None:
    """Folders in folders, more than a walk of this Python's can go down, or a path can name."""
    for program in (["chmod", "-R", "u+rwX"], ["rm", "-rf"]):
        ran = subprocess.run(
            [*program, "--", str(folder)], capture_output=True, text=True, check=False
        )
    if ran.returncode != 0:
        why = (ran.stderr.strip().split("\n") or [""])[-1]
        raise OSError(errno.ENOTEMPTY, why[-_MOST_SHOWN:], str(folder))


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
