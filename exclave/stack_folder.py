"""Writes a rendered stack into a folder; what is there and differs is somebody's, and stays."""

import os
from pathlib import Path, PurePosixPath

from client.errors import Refused
from contracts.stacks import Stack

_FILE = 0o644
_PROGRAM = 0o755


def write_stack(stack: Stack, folder: Path) -> list[str]:
    """Write the stack's files, readable by everybody since no secret is in them.

    Returns:
        Their paths within the folder.

    Raises:
        Refused: a file of that name is there with another content, or cannot be written; nothing
            was written then, or what was is named.
    """
    for name, content in stack.files.items():
        _refuse_strange(name)
        _refuse_foreign(folder / name, content)
    try:
        for name, content in stack.files.items():
            _write(folder / name, content)
    except OSError as error:
        raise Refused(f"The stack cannot be written: {error.filename}: {error.strerror}") from error
    return sorted(stack.files)


def _refuse_strange(name: str) -> None:
    path = PurePosixPath(name)
    if path.is_absolute() or ".." in path.parts or not path.parts:
        raise Refused(f"The stack has a file {name!r}, which lies outside of its folder.")


def _refuse_foreign(path: Path, content: str) -> None:
    try:
        if not path.is_symlink() and path.read_bytes() == content.encode():
            return
    except FileNotFoundError:
        return
    except OSError as error:
        raise Refused(f"{path} cannot be read: {error.strerror}") from error
    raise Refused(
        f"{path} is there, and is not what would be written. Name another folder with --stack, or "
        "remove it."
    )


def _write(path: Path, content: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    mode = _PROGRAM if content.startswith("#!") else _FILE
    if not path.exists():
        # O_EXCL: a file that somebody has just made is not overwritten, nor a link followed.
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            file.write(content)
    path.chmod(mode)
