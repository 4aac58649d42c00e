"""Files of a store, replaced as a whole, or written over where the disk is full."""

import errno
import os
from pathlib import Path
from typing import Final

from store.reserve import give_up_reserve, is_full
from wire.private_files import sync_folder, write_private

_SECTOR_BYTES: Final = 512


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
