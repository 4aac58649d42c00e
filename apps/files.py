"""Reads a config's folder without leaving it: no links, no devices, nothing without a limit."""

import os
import stat
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

MAX_FILES = 10_000
MAX_TOML_BYTES = 1024 * 1024
MAX_CONTENT_BYTES = 4 * 1024 * 1024

MAX_ALL_TOML_BYTES = 8 * 1024 * 1024
MAX_ALL_CONTENT_BYTES = 32 * 1024 * 1024
"""Of what all references together bring in; a file counts as often as it is referred to."""

SKIPPED_FOLDERS = frozenset({".git", ".terraform"})
"""Left out at any depth: they hold what tools made, often with links, and belong to no config."""


class FileRefused(Exception):
    """A file that is not read; `file` is relative to the folder, the message says why."""

    def __init__(self, file: str, message: str) -> None:
        self.file = file
        self.message = message
        super().__init__(f"{file}: {message}")


class Folder:
    """The regular files of a folder, at any depth, as they were when it was opened.

    `refused` holds what lies in the folder but is not read, such as links.

    Raises:
        FileRefused: it is no folder, cannot be listed, or has more than `MAX_FILES` files.
    """

    def __init__(self, root: Path) -> None:
        self.root = root
        self.refused: list[FileRefused] = []
        self.files: set[str] = set()
        self.folders: set[str] = set()
        self._toml_bytes = 0
        self._content_bytes = 0
        if not root.is_dir():
            raise FileRefused(str(root), "is not a folder; give the folder that has metadata.toml")
        self._list()

    def below(self, folder: str, ending: str = "") -> list[str]:
        """The files at any depth below a folder, in order of their path."""
        return sorted(f for f in self.files if f.startswith(f"{folder}/") and f.endswith(ending))

    def toml(self, file: str) -> str:
        """The text of a TOML file.

        Raises:
            FileRefused: as `text`; or all TOML files together are too large.
        """
        if self._toml_bytes <= MAX_ALL_TOML_BYTES:
            text, size = self._decoded(file, MAX_TOML_BYTES)
            self._toml_bytes += size
        if self._toml_bytes > MAX_ALL_TOML_BYTES:
            raise FileRefused(
                ".", f"has more than {MAX_ALL_TOML_BYTES // 1024} KiB of TOML; an app config is a "
                "folder of its own",
            )  # fmt: skip
        return text

    def content(self, file: str) -> str:
        """The text of a file that is brought in where something refers to it.

        Raises:
            FileRefused: as `text`; or all that was brought in is too large.
        """
        if self._content_bytes <= MAX_ALL_CONTENT_BYTES:
            text, size = self._decoded(file, MAX_CONTENT_BYTES)
            self._content_bytes += size
        if self._content_bytes > MAX_ALL_CONTENT_BYTES:
            raise FileRefused(
                file, f"is too much: all files that are referred to may have "
                f"{MAX_ALL_CONTENT_BYTES // 1024} KiB together",
            )  # fmt: skip
        return text

    def text(self, file: str, limit_bytes: int) -> str:
        """The text of a file.

        Raises:
            FileRefused: it is too large, not UTF-8, or no longer a readable regular file.
        """
        return self._decoded(file, limit_bytes)[0]

    def _decoded(self, file: str, limit_bytes: int) -> tuple[str, int]:
        """The text of a file, and how many bytes it has."""
        data = self._read(file, limit_bytes)
        try:
            return data.decode("utf-8-sig"), len(data)
        except UnicodeDecodeError as error:
            line = data.count(b"\n", 0, error.start) + 1
            raise FileRefused(file, f"is not UTF-8 (line {line}); save it as UTF-8") from None

    def find(self, reference: str, *bases: str) -> str | None:
        """The file that `./reference` names, relative to the first of the bases that has it.

        Raises:
            FileRefused: the reference leaves the folder.
        """
        for base in bases:
            file = resolve(base, reference)
            if file is None:
                raise FileRefused(reference, "leads out of the config's folder")
            if file in self.files:
                return file
        return None

    def _list(self) -> None:
        waiting = [""]
        while waiting:
            folder = waiting.pop()
            for entry in self._entries(folder):
                path = f"{folder}/{entry.name}" if folder else entry.name
                if not _is_utf8(entry.name):
                    self._refuse(path, "has a name that is not UTF-8")
                elif entry.is_symlink():
                    self._refuse(path, "is a symbolic link; links are not followed: copy the file")
                elif entry.is_dir(follow_symlinks=False):
                    if entry.name not in SKIPPED_FOLDERS:
                        self._add(path, self.folders)
                        waiting.append(path)
                elif entry.is_file(follow_symlinks=False):
                    self._add(path, self.files)
                else:
                    self._refuse(path, "is neither a file nor a folder; remove it")

    def _entries(self, folder: str) -> Iterator[os.DirEntry[str]]:
        try:
            with os.scandir(self.root / folder) as entries:
                yield from entries
        except OSError as error:
            raise FileRefused(folder or ".", f"cannot be listed: {error.strerror}") from None

    def _add(self, path: str, to: set[str]) -> None:
        to.add(path)
        if len(self.files) + len(self.folders) > MAX_FILES:
            raise FileRefused(
                ".", f"has more than {MAX_FILES} files; an app config is a folder of its own"
            )

    def _refuse(self, path: str, message: str) -> None:
        shown = path.encode("utf-8", "replace").decode()
        self.refused.append(FileRefused(shown, message))

    def _read(self, file: str, limit_bytes: int) -> bytes:
        flags = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
        try:
            with os.fdopen(os.open(self.root / file, flags), "rb") as opened:
                if not stat.S_ISREG(os.fstat(opened.fileno()).st_mode):
                    raise FileRefused(file, "is no longer a regular file")
                data = opened.read(limit_bytes + 1)
        except OSError as error:
            raise FileRefused(file, f"cannot be read: {error.strerror}") from None
        if len(data) > limit_bytes:
            raise FileRefused(file, f"is larger than {limit_bytes // 1024} KiB")
        return data


def _is_utf8(name: str) -> bool:
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return True


def resolve(base: str, reference: str) -> str | None:
    """The path, relative to the root, of `reference` as seen from `base`; None if it leaves it."""
    if reference.startswith("/") or "\\" in reference or "\0" in reference:
        return None
    parts = list(PurePosixPath(base).parts)
    for part in PurePosixPath(reference).parts:
        if part == "..":
            if not parts:
                return None
            parts.pop()
        else:
            parts.append(part)
    return "/".join(parts)
