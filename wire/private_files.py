"""Files and folders that only their owner can access, written so that they survive a crash.

Readers see what `write_whole` writes completely or not at all.
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
    """Writes and syncs the file, mode 0600 whatever the umask; an OSError names the file."""
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
    """Writes a new file that only its owner can access; raises FileExistsError. If the write fails,
    no file is left."""
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
    """Writes a file that only its owner can access, completely or not at all.

    Args:
        path: The file.
        data: Its content.
        replaces: Whether to replace an existing file.

    Raises:
        FileExistsError: the file exists and must not be replaced.
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
    """Renames an already synced file within a file system; the rename survives a crash."""
    make_private_folder(destination.parent)
    source.replace(destination)
    sync_folder(destination.parent)


def sync_folder(folder: Path) -> None:
    """Syncs the folder's entries (not their content) to the disk."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
