"""Writes a rendered stack into a folder, without overwriting files that differ."""

import os
from pathlib import Path, PurePosixPath

from client.errors import Refused
from contracts.stacks import Stack

_FILE = 0o644
_PROGRAM = 0o755


def write_stack(stack: Stack, folder: Path) -> list[str]:
    """Write the stack's files, readable by everybody since they contain no secret.

    Returns:
        Their paths within the folder.

    Raises:
        Refused: a file exists with other content (nothing was written then), or a file cannot be
            written.
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
        raise Refused(f"The stack has a file {name!r}, which is outside of its folder.")


def _refuse_foreign(path: Path, content: str) -> None:
    try:
        if not path.is_symlink() and path.read_bytes() == content.encode():
            return
    except FileNotFoundError:
        return
    except OSError as error:
        raise Refused(f"{path} cannot be read: {error.strerror}") from error
    raise Refused(
        f"{path} exists with other content than would be written. Name another folder with "
        "--stack, or remove the file."
    )


def _write(path: Path, content: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    mode = _PROGRAM if content.startswith("#!") else _FILE
    if not path.exists():
        # O_EXCL: do not overwrite a file that was created meanwhile, nor follow a link.
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            file.write(content)
    path.chmod(mode)
