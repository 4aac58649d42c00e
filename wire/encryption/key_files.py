"""Files that hold keys: readable by their owner alone, replaced as a whole, never quoted."""

import json
import os
import stat
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from wire.private_files import write_whole


class KeyFileError(Exception):
    """A key file cannot be used; the message says why, and nothing of what is in it."""


def read_private(path: Path) -> str:
    """The text of a file that nobody but its owner can read.

    Raises:
        KeyFileError: it is not there, cannot be read, or others can read it, too.
    """
    try:
        with path.open(encoding="ascii") as file:
            mode = stat.S_IMODE(os.fstat(file.fileno()).st_mode)
            if mode & 0o077:
                raise KeyFileError(
                    f"{path} holds keys and may be read or written by others (mode {mode:04o}); "
                    f"take that away: chmod 600 {path}"
                )
            return file.read()
    except FileNotFoundError as error:
        raise KeyFileError(f"{path}, the file of the keys, is not there") from error
    except OSError as error:
        raise KeyFileError(f"{path} cannot be read: {error.strerror}") from error
    except UnicodeDecodeError:
        raise KeyFileError(f"{path} is no file of keys: it is not plain text") from None


def write_keys(path: Path, content: Mapping[str, Any], *, replaces: bool) -> None:
    """Write JSON that only its owner can read; a reader sees the old file or the new one.

    Args:
        path: Where to.
        content: What.
        replaces: Whether a file that is there already is replaced.

    Raises:
        KeyFileError: it cannot be written, or is there already.
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
