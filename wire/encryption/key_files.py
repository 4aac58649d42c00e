"""Files that contain keys: only their owner can read them, they are replaced as a whole, and never
quoted."""

import json
import os
import stat
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from wire.private_files import write_whole


class KeyFileError(Exception):
    """A key file is unusable; the message says why, and contains nothing of the file."""


def read_private(path: Path) -> str:
    """The text of a file that only its owner can access.

    Raises:
        KeyFileError: it does not exist, cannot be read, or others can access it, too.
    """
    try:
        with path.open(encoding="ascii") as file:
            mode = stat.S_IMODE(os.fstat(file.fileno()).st_mode)
            if mode & 0o077:
                raise KeyFileError(
                    f"{path} contains keys, but others can read or write it (mode {mode:04o}); "
                    f"run: chmod 600 {path}"
                )
            return file.read()
    except FileNotFoundError as error:
        raise KeyFileError(f"{path}, the file of the keys, is not there") from error
    except OSError as error:
        raise KeyFileError(f"{path} cannot be read: {error.strerror}") from error
    except UnicodeDecodeError:
        raise KeyFileError(f"{path} is not a file of keys: it is not plain text") from None


def write_keys(path: Path, content: Mapping[str, Any], *, replaces: bool) -> None:
    """Write JSON that only its owner can access; readers see either the old or the new content.

    Args:
        path: The file.
        content: What to write.
        replaces: Whether to replace an existing file.

    Raises:
        KeyFileError: it cannot be written, or exists and must not be replaced.
    """
    text = json.dumps(content, indent=2) + "\n"
    try:
        write_whole(path, text.encode("ascii"), replaces=replaces)
    except FileExistsError as error:
        raise KeyFileError(
            f"{path} is there already, and what was encrypted with its keys needs them; "
            "choose another name"
        ) from error
    except OSError as error:
        raise KeyFileError(f"{path} cannot be written: {error.strerror}") from error
