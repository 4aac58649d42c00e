"""Reads a config's folder without leaving it: no links, no devices, and everything has a limit."""

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import islice
from pathlib import Path, PurePosixPath

MAX_FILES = 10_000
MAX_DEPTH = 50
MAX_TOML_BYTES = 1024 * 1024
MAX_CONTENT_BYTES = 4 * 1024 * 1024

MAX_ALL_TOML_BYTES = 8 * 1024 * 1024
MAX_ALL_CONTENT_BYTES = 32 * 1024 * 1024
"""Limit for what all references bring in together; a file counts each time it is referred to."""

SKIPPED_FOLDERS = frozenset({".git", ".terraform"})
"""Skipped at any depth: tools make these folders, often with links; they belong to no config."""


class FileRefused(Exception):
    """A file is not read; `file` is relative to the folder, the message says why."""

    def __init__(self, file: str, message: str) -> None:
        self.file = file
        self.message = message
        super().__init__(f"{file}: {message}")


class Folder:
    """The regular files in a folder, at any depth, as they were when it was opened.

    `refused` has what is in the folder but is not read, such as links.

    Raises:
        FileRefused: it is not a folder, cannot be listed, or has more than `MAX_FILES` files.
    """

    def __init__(self, root: Path) -> None:
        self.root = root
        self.refused: list[FileRefused] = []
        self.files: set[str] = set()
        self.folders: set[str] = set()
        self._count = 0
        self._by_any_case: dict[str, str] = {}
        self._toml_bytes = 0
        self._content_bytes = 0
        if not root.is_dir():
            raise FileRefused(str(root), "is not a folder; name the folder that has metadata.toml")
        self._list()

    def below(self, folder: str, ending: str = "") -> list[str]:
        """The files at any depth below a folder, in order of their path."""
        return sorted(f for f in self.files if f.startswith(f"{folder}/") and f.endswith(ending))

    def toml(self, file: str) -> str:
        """The text of a TOML file.

        Raises:
            FileRefused: as for `text`, or all TOML files together are too large.
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
        """The text of a file that replaces a reference.

        Raises:
            FileRefused: as for `text`, or all such files together are too large.
        """
        if self._content_bytes <= MAX_ALL_CONTENT_BYTES:
            text, size = self._decoded(file, MAX_CONTENT_BYTES)
            self._content_bytes += size
        if self._content_bytes > MAX_ALL_CONTENT_BYTES:
            raise FileRefused(
                file, f"is too much: all files that the config refers to may have "
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
        """The file that `./reference` names, relative to the first of the bases where it exists.

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
                self._count_one()
                if not _is_utf8(entry.name):
                    self._refuse(path, "has a name that is not UTF-8")
                elif path.count("/") >= MAX_DEPTH:
                    self._refuse(path, f"lies more than {MAX_DEPTH} folders deep")
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

    def _entries(self, folder: str) -> list[os.DirEntry[str]]:
        """The entries of a folder, sorted by name; nothing if it cannot be listed."""
        try:
            with opened_below(self.root, folder, _FOLDER) as found, os.scandir(found) as entries:
                # One more than allowed is enough to know that there are too many.
                return sorted(islice(entries, MAX_FILES + 1), key=lambda entry: entry.name)
        except OSError as error:
            if not folder:
                raise FileRefused(".", f"cannot be listed: {error.strerror}") from None
            self._refuse(folder, f"cannot be listed: {error.strerror}")
            return []

    def _add(self, path: str, to: set[str]) -> None:
        twin = self._by_any_case.setdefault(path.casefold(), path)
        if twin != path:
            self._refuse(
                path, f"differs from `{twin}` only in case, and many systems cannot hold both; "
                "rename one of them",
            )  # fmt: skip
        to.add(path)

    def _count_one(self) -> None:
        self._count += 1
        if self._count > MAX_FILES:
            raise FileRefused(
                ".", f"has more than {MAX_FILES} files; an app config is a folder of its own"
            )

    def _refuse(self, path: str, message: str) -> None:
        shown = path.encode("utf-8", "replace").decode()
        self.refused.append(FileRefused(shown, message))

    def _read(self, file: str, limit_bytes: int) -> bytes:
        try:
            data = read_below(self.root, file, limit_bytes + 1)
        except OSError as error:
            raise FileRefused(file, f"cannot be read: {error.strerror}") from None
        if len(data) > limit_bytes:
            raise FileRefused(file, f"is larger than {limit_bytes // 1024} KiB")
        return data


_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW
_FILE = os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW


def read_below(root: Path, file: str, most_bytes: int) -> bytes:
    """The first bytes of a regular file below `root`, without following a link below it.

    A listed file that has become something else since is not read.

    Raises:
        OSError: it is not a regular file, cannot be read, or its path has a link in it.
    """
    with opened_below(root, file, _FILE) as descriptor:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise OSError(errno.EINVAL, "Is no longer a regular file")
        with os.fdopen(descriptor, "rb", closefd=False) as opened:
            return opened.read(most_bytes)


@contextmanager
def opened_below(root: Path, path: str, flags: int) -> Iterator[int]:
    """Opens a path below `root`, and follows no link on the way.

    Raises:
        OSError: it cannot be opened, or its path has a link in it.
    """
    descriptor = os.open(root, os.O_RDONLY | os.O_DIRECTORY)
    try:
        parts = PurePosixPath(path).parts
        for place, part in enumerate(parts):
            how = flags if place == len(parts) - 1 else _FOLDER
            below = os.open(part, how, dir_fd=descriptor)
            os.close(descriptor)
            descriptor = below
        yield descriptor
    finally:
        os.close(descriptor)


def _is_utf8(name: str) -> bool:
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return True


def resolve(base: str, reference: str) -> str | None:
    """The path from the root for `reference` as seen from `base`; None if it leaves the root."""
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
