"""Packs a folder into a zip whose bytes depend on its content alone, and unpacks zips safely.

An archive depends on each regular file's path, bytes and executable bit. Times, owners, other mode
bits, the order of the file system and empty folders (which git does not keep either) do not
matter. Left out of the archive, wherever they lie: `.git`, `.terraform` (downloaded providers and
modules), `__pycache__`, and `*.tfstate*` (state contains secrets, and belongs in the store). The
provider lock file `.terraform.lock.hcl` stays in. Files are stored, not deflated: deflate's bytes
differ between builds of zlib, and equal content must have equal digests.
"""

import io
import os
import stat
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from pathlib import Path, PurePosixPath
from typing import IO

from artifacts.names import CHUNK_BYTES

MAX_BYTES = 256 * 1024 * 1024
"""The largest content of an archive, which holds configuration, not images."""
MAX_FILES = 20_000

_LEFT_OUT = (".git", ".terraform", "__pycache__", "*.tfstate*")
_LEFT_OUT_TEXT = ", ".join(_LEFT_OUT)
_FIXED_TIME = (1980, 1, 1, 0, 0, 0)  # The earliest that a zip can express.
_MAX_NAME_BYTES = 1024
_MAX_PART_BYTES = 255
_METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
_UNIX = 3
_ENCRYPTED = 0x1


class ArchiveRefused(ValueError):
    """A folder that cannot be packed, or a zip that is not safe to unpack."""


@dataclass(frozen=True)
class _Entry:
    """A file of a zip, whose name and kind have been checked to be safe."""

    info: zipfile.ZipInfo
    path: PurePosixPath
    executable: bool


def pack(folder: Path, *, max_bytes: int = MAX_BYTES, max_files: int = MAX_FILES) -> bytes:
    """Pack the folder's files into a zip that is equal, byte for byte, for equal content.

    Args:
        folder: what to pack; paths in the zip are relative to it.
        max_bytes: how many bytes the files may have together.
        max_files: how many files there may be.

    Raises:
        ArchiveRefused: it is not a folder, is too big, has a name that other systems cannot hold,
            or contains something besides files and folders (a link, socket, FIFO or device).
    """
    if not folder.is_dir():
        raise ArchiveRefused(f"{folder} is not a folder")
    files = sorted(_files(folder, PurePosixPath()), key=str)
    if len(files) > max_files:
        raise ArchiveRefused(
            f"{folder} has {len(files)} files, more than {max_files}; "
            f"move out what the app does not need ({_LEFT_OUT_TEXT} are left out already)"
        )
    buffer = io.BytesIO()
    left = max_bytes
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_STORED) as archive:
        for path in files:
            data, executable = _read(folder / path, left)
            if len(data) > left:
                raise ArchiveRefused(
                    f"{folder} has more than {max_bytes} bytes (reached at {path}); "
                    f"move out what the app does not need ({_LEFT_OUT_TEXT} are left out already)"
                )
            left -= len(data)
            archive.writestr(_info(path, executable), data)
    return buffer.getvalue()


def pack_from(source: Path, directory: PurePosixPath) -> bytes:
    """Pack a folder inside a zip that may come from anyone.

    Args:
        source: the zip file, with at most `MAX_BYTES` and `MAX_FILES` in it.
        directory: the folder within it.

    Returns:
        The same bytes that `pack` would return for that folder of the unpacked zip.

    Raises:
        ArchiveRefused: as for `unpack`; or there is no file in the folder.
    """
    buffer = io.BytesIO()
    with _opened(source) as archive:
        entries = _checked(archive.infolist(), MAX_BYTES, MAX_FILES)
        below = sorted(_below(directory, entries), key=lambda entry: str(entry.path))
        if not below:
            raise ArchiveRefused(f"there is no file in {directory}")
        with zipfile.ZipFile(buffer, "w", zipfile.ZIP_STORED) as packed:
            for entry in below:
                packed.writestr(_info(entry.path, entry.executable), archive.read(entry.info))
    return buffer.getvalue()


def unpack(
    source: bytes | Path,
    destination: Path,
    *,
    max_bytes: int = MAX_BYTES,
    max_files: int = MAX_FILES,
    durable: bool = True,
) -> None:
    """Unpack a zip that may come from anyone into a new or empty folder.

    Every entry is checked before the first is written. Files get mode 0600 (0700 where the zip
    marks them executable) and folders 0700.

    Args:
        source: the zip's bytes, or the path of the zip file.
        destination: created with its parents; must be empty if it exists.
        max_bytes: how many bytes the files may have together, once unpacked.
        max_files: how many entries there may be.
        durable: sync the files to disk before returning; not needed for files read once.

    Raises (the destination may then contain some of the files; the caller removes them):
        ArchiveRefused: the source is not a zip, is damaged or too big, or has an entry that is not
            a plain file or folder below the destination; or the destination is not empty.
    """
    if destination.exists() and any(destination.iterdir()):
        raise ArchiveRefused(f"{destination} is not empty: refusing to unpack over what is there")
    with _opened(source) as archive:
        entries = _checked(archive.infolist(), max_bytes, max_files)
        destination.mkdir(mode=0o700, parents=True, exist_ok=True)
        for entry in entries:
            _write(archive, entry, destination, durable)


@contextmanager
def _opened(source: bytes | Path) -> Iterator[zipfile.ZipFile]:
    try:
        with zipfile.ZipFile(io.BytesIO(source) if isinstance(source, bytes) else source) as opened:
            yield opened
    # zipfile raises RuntimeError and NotImplementedError for features it lacks.
    except (zipfile.BadZipFile, zlib.error, EOFError, RuntimeError, UnicodeError) as error:
        raise ArchiveRefused(f"the archive is damaged or not a zip: {error}") from error


def _below(directory: PurePosixPath, entries: list[_Entry]) -> Iterator[_Entry]:
    """The entries of the folder that would be packed, with paths relative to it."""
    for entry in entries:
        if entry.path.is_relative_to(directory):
            path = entry.path.relative_to(directory)
            if not any(map(is_left_out, path.parts)):
                yield replace(entry, path=path)


def _files(folder: Path, below: PurePosixPath) -> Iterator[PurePosixPath]:
    with os.scandir(folder) as entries:
        for entry in entries:
            path = below / entry.name
            if is_left_out(entry.name):
                continue
            if (reason := name_problem(entry.name)) is not None:
                raise ArchiveRefused(f"{str(path)!r} in {folder}: {reason}; rename it")
            mode = entry.stat(follow_symlinks=False).st_mode
            if stat.S_ISDIR(mode):
                yield from _files(Path(entry.path), path)
            elif stat.S_ISREG(mode):
                yield path
            else:
                raise ArchiveRefused(
                    f"{path} is a {_kind(mode)}; only files and folders can be packed: "
                    "put the content itself in its place"
                )


def is_left_out(name: str) -> bool:
    """Whether a file or folder of that name is never packed."""
    return any(fnmatchcase(name, pattern) for pattern in _LEFT_OUT)


def _read(path: Path, limit: int) -> tuple[bytes, bool]:
    # Since the listing, a file may have become a link; then opening it fails.
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW)
    with os.fdopen(descriptor, "rb") as file:
        executable = bool(os.fstat(descriptor).st_mode & stat.S_IXUSR)
        return file.read(limit + 1), executable


def _info(path: PurePosixPath, executable: bool) -> zipfile.ZipInfo:
    info = zipfile.ZipInfo(str(path), _FIXED_TIME)
    info.create_system = _UNIX
    info.compress_type = zipfile.ZIP_STORED
    info.external_attr = (stat.S_IFREG | (0o755 if executable else 0o644)) << 16
    return info


def _checked(infos: list[zipfile.ZipInfo], max_bytes: int, max_files: int) -> list[_Entry]:
    if len(infos) > max_files:
        raise ArchiveRefused(f"the archive has {len(infos)} entries, more than {max_files}")
    total = sum(info.file_size for info in infos)
    if total > max_bytes:
        raise ArchiveRefused(f"the archive unpacks to {total} bytes, more than {max_bytes}")
    files: list[_Entry] = []
    taken: set[PurePosixPath] = set()
    folders: set[PurePosixPath] = set()
    for info in infos:
        path = _checked_path(info)
        folders.update(path.parents)
        if info.is_dir():
            folders.add(path)
            continue
        if path in taken:
            raise ArchiveRefused(f"the archive holds {path} twice")
        taken.add(path)
        files.append(_Entry(info, path, bool(info.external_attr >> 16 & stat.S_IXUSR)))
    if both := taken & folders:
        raise ArchiveRefused(f"{min(both)} is both a file and a folder in the archive")
    return files


def _checked_path(info: zipfile.ZipInfo) -> PurePosixPath:
    name = info.filename
    mode = info.external_attr >> 16
    parts = name.removesuffix("/").split("/")
    problem = next((p for p in map(name_problem, parts) if p is not None), None)
    if problem is None and len(name.encode()) > _MAX_NAME_BYTES:
        problem = f"the name has more than {_MAX_NAME_BYTES} bytes"
    if problem is None and info.flag_bits & _ENCRYPTED:
        problem = "it is encrypted"
    if problem is None and info.compress_type not in _METHODS:
        problem = f"compression method {info.compress_type} is neither stored nor deflated"
    expected = stat.S_IFDIR if info.is_dir() else stat.S_IFREG
    if problem is None and stat.S_IFMT(mode) not in (0, expected):
        problem = f"it is a {_kind(mode)}, not a {_kind(expected)}"
    if problem is not None:
        raise ArchiveRefused(f"entry {name[:200]!r} of the archive is refused: {problem}")
    return PurePosixPath(*parts)


def name_problem(part: str) -> str | None:
    """What is wrong with one part of a path, if anything."""
    if part in ("", ".", ".."):
        return "the path is absolute, or has an empty, . or .. part"
    if "\\" in part or any(ord(character) < 32 or ord(character) == 127 for character in part):
        return "the name has a backslash or a control character"
    try:
        length = len(part.encode())
    except UnicodeEncodeError:
        return "the name is not UTF-8"
    return f"the name has more than {_MAX_PART_BYTES} bytes" if length > _MAX_PART_BYTES else None


def _write(archive: zipfile.ZipFile, entry: _Entry, destination: Path, durable: bool) -> None:
    folder = destination
    for part in entry.path.parent.parts:
        folder /= part
        folder.mkdir(mode=0o700, exist_ok=True)
    descriptor = os.open(
        destination / entry.path,
        os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW,
        0o700 if entry.executable else 0o600,
    )
    with os.fdopen(descriptor, "wb") as target, archive.open(entry.info) as content:
        _copy(content, target)
        target.flush()
        if durable:
            # If a power cut left a hole in a module, its plan would destroy what is missing there.
            os.fsync(descriptor)


def _copy(content: IO[bytes], target: IO[bytes]) -> None:
    # zipfile reads at most the declared size, which was checked, and verifies the CRC at the end.
    while piece := content.read(CHUNK_BYTES):
        target.write(piece)


def _kind(mode: int) -> str:
    kinds = {
        stat.S_IFLNK: "link",
        stat.S_IFSOCK: "socket",
        stat.S_IFIFO: "FIFO",
        stat.S_IFBLK: "device",
        stat.S_IFCHR: "device",
        stat.S_IFDIR: "folder",
        stat.S_IFREG: "file",
    }
    return kinds.get(stat.S_IFMT(mode), "thing of an unknown kind")
