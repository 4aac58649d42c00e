"""Errors and texts about the worker's disks: which one is full, and how much is free."""

import os
import platform
from pathlib import Path

from contracts.errors import DiskFull, ExclaveError, Unreachable
from store.errors import Conflict, StoreUnavailable

_UNITS = ("bytes", "KiB", "MiB", "GiB", "TiB")


def disk_full(path: Path, what: str = "") -> DiskFull:
    """The error to raise when something could not be written because the disk is full; blocks.

    Args:
        path: The file that could not be written, or a folder that it is in.
        what: What had to be written, if that says more than the path.
    """
    disk = _mount_of(path)
    return DiskFull(
        f"The disk {disk} of the worker's machine {platform.node()} is full ({_free(disk)}): "
        f"{what or path} could not be written. Free space there. Writing is retried until it "
        "succeeds; nothing that was done is lost or done twice."
    )


def of_store(error: StoreUnavailable | Conflict) -> ExclaveError:
    """The error to raise when the store cannot be used now; blocks."""
    full = error.full_disk if isinstance(error, StoreUnavailable) else None
    if full is not None:
        return disk_full(full, f"the store in {full}")
    return Unreachable(f"{error}. This is retried until the store answers.")


def room(folder: Path) -> str:
    """How much space is free on the folder's disk, as a text; blocks."""
    return _free(_mount_of(folder))


def _mount_of(path: Path) -> Path:
    """The mount point of the disk that the path is on, or would be on."""
    there = path.absolute()
    while not there.exists():
        there = there.parent
    device = there.stat().st_dev
    while there.parent != there and there.parent.stat().st_dev == device:
        there = there.parent
    return there


def _free(disk: Path) -> str:
    found = os.statvfs(disk)
    words = (
        f"{_size(found.f_bavail * found.f_frsize)} of {_size(found.f_blocks * found.f_frsize)} free"
    )
    # Some file systems do not count files.
    return f"{words}, and no room for more files" if found.f_files and not found.f_favail else words


def _size(size: float) -> str:
    for unit in _UNITS:
        if size < 1024 or unit == _UNITS[-1]:
            return f"{size:.0f} {unit}" if unit == _UNITS[0] else f"{size:.1f} {unit}"
        size /= 1024
    raise AssertionError("the last unit has no upper bound")
