"""A store in a folder of this machine: for development, and for installs with one host.

Every change holds a file lock in the root, writes a temporary file and renames it, so that readers
see either the old or the new object, also after a crash. Only the owner can read the files,
whatever the umask. The folder must lie on a local file system.
"""

import contextlib
import fcntl
import hashlib
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from store.errors import Conflict, StoreUnavailable
from store.files import overwrite, replace_private
from store.interface import ABSENT, ANY, Etag, IfMatch, Object
from store.left_files import read_left
from store.object_keys import check_key, check_prefix, is_key
from store.reserve import is_full
from wire.private_files import make_private_folder, open_private, sync_folder

# No segment of a key begins with a dot, so these names collide with no key.
_LOCK: Final = ".lock"
_INCOMING: Final = ".incoming"

_WITHOUT_ROOM: Final = "leases/"
"""These objects are overwritten in place if there is no room: a tool must not be stopped, and a
script's work lost, because its lease cannot be renewed on a full disk."""

_WITHOUT_RESERVE: Final = ("plans/", "_check/")
"""These objects can be recreated, so they must not use the disk reserve."""


class FolderStore:
    """The store in the folder `root`, which is created when it is first written to."""

    is_far: Final = False

    def __init__(self, root: Path) -> None:
        self.root = root.absolute()

    def get(self, key: str) -> Object | None:
        """The object under the key, or None; raises StoreUnavailable."""
        with _explained(key, self.root):
            return self._read(self._path(key))

    def put(self, key: str, data: bytes, *, if_match: IfMatch) -> str:
        """Writes the object as a whole and returns its etag; raises Conflict."""
        path = self._path(key)
        with _explained(key, self.root), self._locked():
            self._check(key, path, if_match)
            make_private_folder(path.parent)
            try:
                replace_private(
                    path,
                    data,
                    incoming=self.root / _INCOMING,
                    may_take_reserve=not key.startswith(_WITHOUT_RESERVE),
                )
            except OSError as error:
                if not (is_full(error) and key.startswith(_WITHOUT_ROOM) and path.exists()):
                    raise
                data = overwrite(path, data)
        return _etag(data)

    def list(self, prefix: str) -> list[str]:
        """The keys that begin with the prefix, sorted."""
        folder = self.root / check_prefix(prefix).rpartition("/")[0]
        with _explained(prefix, self.root):
            keys = [
                (Path(parent) / name).relative_to(self.root).as_posix()
                for parent, _, names in os.walk(folder, onerror=_unless_absent)
                for name in names
            ]
        # Leaves out the store's own files, and what somebody else has put there.
        return sorted(key for key in keys if key.startswith(prefix) and is_key(key))

    def delete(self, key: str, *, if_match: Etag = ANY) -> None:
        """Removes the object, if there is one; raises Conflict if it is not the expected one."""
        path = self._path(key)
        with _explained(key, self.root), self._locked():
            if not path.is_file():
                return
            self._check(key, path, if_match)
            path.unlink()
            sync_folder(path.parent)

    def local_path(self, key: str) -> Path:
        """The file of the key; its folder exists, but the file need not."""
        path = self._path(key)
        with _explained(key, self.root):
            make_private_folder(path.parent)
        return path

    def s3_place(self) -> None:
        """None, since it is a folder."""

    def __str__(self) -> str:
        return f"in {self.root}"

    def _path(self, key: str) -> Path:
        return self.root / check_key(key)

    def _read(self, path: Path) -> Object | None:
        if path.is_dir():
            return None
        try:
            # Terraform writes its state here, and its providers could leave anything in its place.
            data = read_left(path)
        except (FileNotFoundError, NotADirectoryError):
            return None
        return Object(data, _etag(data))

    def _check(self, key: str, path: Path, if_match: IfMatch) -> None:
        if if_match is ANY:
            return
        found = self._read(path)
        if (found is None) if if_match is ABSENT else (found and found.etag == if_match):
            return
        raise Conflict(key)

    @contextlib.contextmanager
    def _locked(self) -> Iterator[None]:
        make_private_folder(self.root)
        lock = open_private(self.root / _LOCK, os.O_RDWR)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield
        finally:
            os.close(lock)


@contextlib.contextmanager
def _explained(key: str, root: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise StoreUnavailable(
            f"the store in {root} cannot be used for {key!r}: {error}; "
            "check that the folder exists, has room, and belongs to the worker's user",
            root if is_full(error) else None,
        ) from error


def _etag(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def _unless_absent(error: OSError) -> None:
    if not isinstance(error, FileNotFoundError | NotADirectoryError):
        raise error
