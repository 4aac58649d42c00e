"""The files of a git tree: parses git's listing, and writes them into a folder."""

import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import IO, Final

from artifacts.archive import MAX_BYTES, MAX_FILES, is_left_out, name_problem
from artifacts.names import CHUNK_BYTES

_LINK: Final = "120000"
_SUBMODULE: Final = "160000"
_EXECUTABLE: Final = "100755"
_LFS_POINTER: Final = b"version https://git-lfs.github.com/spec/"


@dataclass(frozen=True)
class Entry:
    """A line of `git ls-tree -l`."""

    mode: str
    object: str
    size: int
    path: str

    @property
    def is_file(self) -> bool:
        """Whether it is a regular file."""
        return self.mode.startswith("100")

    @property
    def problem(self) -> str | None:
        """Why a folder with this entry cannot be packed; None if it can."""
        if self.mode == _LINK:
            return (
                f"{self.path} is a link; only files and folders can be packed: replace it by the "
                "content itself"
            )
        if self.mode == _SUBMODULE:
            return (
                f"{self.path} is a submodule, and submodules are not fetched: replace it by the "
                "content itself, or name its repository in a component of its own"
            )
        wrong = next(filter(None, map(name_problem, self.path.split("/"))), None)
        if wrong:
            return f"{self.path!r}: {wrong}; rename it"
        return None if self.is_file else f"{self.path} has the unknown mode {self.mode}"


def parse_tree(listed: bytes) -> list[Entry]:
    """Parses what `git ls-tree -z -l` printed, and leaves out what is never packed."""
    found = []
    for line in listed.decode(errors="surrogateescape").split("\0"):
        head, _, path = line.partition("\t")
        if path and not any(map(is_left_out, path.split("/"))):
            mode, _, name, size = head.split()
            found.append(Entry(mode, name, int(size) if size != "-" else 0, path))
    return found


def size_problem(entries: Iterable[Entry]) -> str | None:
    """Why these are too many files or bytes to be packed; None if they are not."""
    entries = list(entries)
    total = sum(entry.size for entry in entries)
    if len(entries) > MAX_FILES:
        return f"the folder has {len(entries)} files, more than {MAX_FILES}"
    if total > MAX_BYTES:
        return f"the folder has {total} bytes, more than {MAX_BYTES}"
    return None


def write_files(entries: Iterable[Entry], objects: Path, destination: Path) -> str | None:
    """Write files from the output of `git cat-file --batch` for their objects, in the same order.

    Returns:
        Why they cannot be packed, or None; some files may have been written in either case.

    Raises:
        EOFError: the output does not match the entries.
    """
    destination.mkdir(mode=0o700, parents=True, exist_ok=True)
    with objects.open("rb") as source:
        for entry in entries:
            _, kind, size = source.readline().decode().split()
            if kind != "blob" or int(size) != entry.size:
                raise EOFError(f"{entry.path} is a {kind} of {size} bytes")
            target = destination / PurePosixPath(entry.path)
            target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW
            descriptor = os.open(target, flags, 0o700 if entry.mode == _EXECUTABLE else 0o600)
            with os.fdopen(descriptor, "wb") as file:
                begins = _copy(source, file, entry.size)
            if begins.startswith(_LFS_POINTER):
                return (
                    f"{entry.path} is in Git LFS, which is not fetched: replace it by the content "
                    "itself"
                )
            source.read(1)
    return None


def _copy(source: IO[bytes], target: IO[bytes], size: int) -> bytes:
    """Copy `size` bytes; returns the first of them."""
    begins = b""
    while size:
        piece = source.read(min(size, CHUNK_BYTES))
        if not piece:
            raise EOFError("git printed less than it listed")
        begins = begins or piece[:64]
        target.write(piece)
        size -= len(piece)
    return begins
