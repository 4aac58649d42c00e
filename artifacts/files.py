"""Files that are there whole or not at all, also after a crash: written aside, synced, renamed."""

import os
import uuid
from pathlib import Path


def write_atomically(path: Path, data: bytes) -> None:
    """Write a file (mode 0600) that readers see complete or not at all; makes its folder (0700)."""
    make_private_folder(path.parent)
    temporary = path.with_name(f".{path.name}.{uuid.uuid4().hex}")
    try:
        descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(descriptor)
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    sync_folder(path.parent)


def move_durably(source: Path, destination: Path) -> None:
    """Rename a file, already synced, within a file system; it stays renamed after a crash."""
    make_private_folder(destination.parent)
    source.replace(destination)
    sync_folder(destination.parent)


def make_private_folder(folder: Path) -> None:
    """Make the folder and its parents where they are missing, for their owner alone."""
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)


def sync_folder(folder: Path) -> None:
    """Bring the folder's entries (not their content) to the disk."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
