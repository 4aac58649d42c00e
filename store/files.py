"""Files and folders for their owner alone, written so that a crash leaves the old or the new."""

import contextlib
import errno
import os
from pathlib import Path
from typing import Final

from store.reserve import give_up_reserve, is_full

_SECTOR_BYTES: Final = 512


def make_folders(folder: Path) -> None:
    """Creates the folder and its missing parents, mode 0700 whatever the umask."""
    if folder.is_dir():
        return
    make_folders(folder.parent)
    with contextlib.suppress(FileExistsError):
        folder.mkdir(mode=0o700)
        folder.chmod(0o700)
        sync_folder(folder.parent)


def open_private(path: Path, flags: int) -> int:
    """Opens the file and returns its descriptor; a file that this creates has mode 0600."""
    return os.open(path, flags | os.O_CREAT | os.O_CLOEXEC, 0o600)


def write_private(path: Path, data: bytes) -> None:
    """Writes the file down to the disk, mode 0600 whatever the umask; an OSError names the file."""
    try:
        with os.fdopen(open_private(path, os.O_WRONLY | os.O_TRUNC), "wb") as file:
            os.fchmod(file.fileno(), 0o600)
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
    except OSError as error:
        error.filename = error.filename or str(path)
        raise


def write_new(path: Path, data: bytes, *, executable: bool = False) -> None:
    """Writes a file that was not there, for its owner alone; raises FileExistsError. One that could
    not be written as a whole is not there."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
    descriptor = os.open(path, flags, 0o700 if executable else 0o600)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
    except OSError as error:
        path.unlink()
        error.filename = error.filename or str(path)
        raise


def replace_private(
    path: Path, data: bytes, incoming: Path, *, may_take_reserve: bool = False
) -> None:
    """Puts a new file in the place of `path`; `incoming` is where it is written before.

    Only one writer may use `incoming` at a time; it must lie on the file system of `path`. On a
    full disk, the reserve is given up for what may take it.
    """
    try:
        write_private(incoming, data)
    except OSError as error:
        if not (may_take_reserve and is_full(error) and give_up_reserve(path)):
            raise
        write_private(incoming, data)
    incoming.replace(path)
    sync_folder(path.parent)


def overwrite(path: Path, data: bytes) -> bytes:
    """Writes over a small file of JSON in its place, without room; returns what it holds then.

    What is shorter than before is filled up with spaces. Less than a disk writes at once, so that a
    crash leaves the old or the new.

    Raises:
        OSError: it is too large for that.
    """
    with path.open("r+b", buffering=0) as file:
        filled = data.ljust(os.fstat(file.fileno()).st_size)
        if len(filled) > _SECTOR_BYTES:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(path))
        file.write(filled)
        os.fsync(file.fileno())
    return filled


def sync_folder(folder: Path) -> None:
    """Brings the names of the folder's files down to the disk."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
