"""Files and folders for their owner alone, which a crash leaves as they were or as they are meant.

A reader sees what `write_whole` writes complete or not at all.
"""

import contextlib
import os
from pathlib import Path


def make_private_folder(folder: Path) -> None:
    """Creates the folder and its missing parents, mode 0700 whatever the umask."""
    if folder.is_dir():
        return
    make_private_folder(folder.parent)
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


def write_whole(path: Path, data: bytes, *, replaces: bool = True) -> None:
    """Writes the file, for its owner alone, so that it is there as a whole or as it was before.

    Args:
        path: Where to.
        data: What.
        replaces: Whether one that is there is replaced.

    Raises:
        FileExistsError: it is there, and is not to be replaced.
    """
    part = path.with_name(f".{path.name}.{os.urandom(8).hex()}")
    try:
        write_private(part, data)
        if replaces:
            part.replace(path)
        else:
            os.link(part, path)
    finally:
        part.unlink(missing_ok=True)
    sync_folder(path.parent)


def move_whole(source: Path, destination: Path) -> None:
    """Renames a file, already synced, within a file system; it stays renamed after a crash."""
    make_private_folder(destination.parent)
    source.replace(destination)
    sync_folder(destination.parent)


def sync_folder(folder: Path) -> None:
    """Brings the names of the folder's files down to the disk, not their content."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
