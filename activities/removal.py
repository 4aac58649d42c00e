"""Removes files that tools left on this machine, even from read-only folders.

Go, for example, makes the folders of its module cache read-only; a worker that is not root must
make them writable first.
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
"""A blank or similar character, as it is escaped in the list of mounts."""

_MOST_SHOWN = 300
"""Characters of a program's message that are shown."""


def remove(path: Path) -> None:
    """Remove a file, a link, or a folder with everything in it; blocks.

    What can be removed is removed even if something else cannot. But if a file system is mounted in
    the folder, nothing in it is removed.

    Raises:
        OSError: something could not be removed.
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
    """Remove all of them, and log a warning about each that could not be removed; blocks.

    Returns:
        Those that could not be removed.
    """
    left = []
    for path in paths:
        try:
            remove(path)
        except OSError as error:
            left.append(path)
            _log.warning(
                "%s could not be removed (%s) and is left there; the work goes on. Another user's "
                "tool may have created it: remove it as that user, or as root.",
                path,
                error,
            )
    return left


def _require_no_mount(folder: Path) -> None:
    """Raise OSError if a script left a mount in the folder: what is mounted may be the customer's
    only copy of their data."""
    if sys.platform != "linux":
        return
    inside = f"{folder.resolve()}{os.sep}"
    for line in Path("/proc/self/mountinfo").read_text(errors="surrogateescape").split("\n"):
        fields = line.split(" ")
        mounted = _ESCAPED.sub(_unescaped, fields[4]) if len(fields) > 4 else ""
        if mounted.startswith(inside):
            raise OSError(errno.EBUSY, "a file system is mounted there; unmount it", mounted)


def _unescaped(escaped: re.Match[str]) -> str:
    return os.fsdecode(bytes([int(escaped[1], 8)]))


def _remove_deep(folder: Path) -> None:
    """For folders that are nested too deeply for Python's recursion or for a path's length."""
    for program in (["chmod", "-R", "u+rwX"], ["rm", "-rf"]):
        ran = subprocess.run(
            [*program, "--", str(folder)], capture_output=True, text=True, check=False
        )
    if ran.returncode != 0:
        why = (ran.stderr.strip().split("\n") or [""])[-1]
        raise OSError(errno.ENOTEMPTY, why[-_MOST_SHOWN:], str(folder))


def _make_writable(folder: Path) -> None:
    """Make the folder and its subfolders readable and writable; does not follow links."""
    _open(folder)
    for parent, folders, _ in os.walk(folder):
        for name in folders:
            _open(Path(parent, name))


def _open(folder: Path) -> None:
    # Another user's folder cannot be changed; removing it may then fail.
    with suppress(PermissionError):
        mode = folder.lstat().st_mode
        if stat.S_ISDIR(mode) and mode & stat.S_IRWXU != stat.S_IRWXU:
            folder.chmod(stat.S_IMODE(mode) | stat.S_IRWXU)
