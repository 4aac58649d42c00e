"""Files of a store: replaced as a whole, or overwritten in place if the disk is full."""

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
    """Replaces the file `path`, after writing the new content to `incoming`.

    Only one writer at a time may use `incoming`, which must lie on the same file system. If the
    disk is full and `may_take_reserve`, the disk reserve is used up.
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
    """Overwrites a small JSON file in place, which needs no free space; returns its new content.

    The content is padded with spaces to the former size. It fits into one disk sector, so that a
    crash leaves either the old or the new content.

    Raises:
        OSError: the content is too large for that.
    """
    with path.open("r+b", buffering=0) as file:
        filled = data.ljust(os.fstat(file.fileno()).st_size)
        if len(filled) > _SECTOR_BYTES:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(path))
        file.write(filled)
        os.fsync(file.fileno())
    return filled
