"""Uploads in progress: each blob lies in a file of its own until its digest is verified."""

import fcntl
import hashlib
import os
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from io import BufferedRandom
from pathlib import Path

from artifacts.names import checked_digest
from wire.private_files import make_private_folder

UPLOAD_LIFE_SECONDS = 24 * 3600.0
"""How long an upload is kept that nobody continues."""


class UploadUnknown(LookupError):
    """There is no such upload, or it was finished or discarded."""


class UploadRefused(ValueError):
    """A piece does not begin where the last one ended, or another request is writing the upload."""


class TooLarge(ValueError):
    """A blob or manifest over its limit."""


class WrongDigest(ValueError):
    """Content does not have the digest that was announced."""


Keep = Callable[[Path, str], None]
"""Moves a synced file, given its digest, into the repository."""


class Upload:
    """One upload, which any process may continue by its id."""

    def __init__(self, path: Path, limit: int, keep: Keep) -> None:
        """Made by `start_upload` and `find_upload`."""
        self.id = path.name
        self._path = path
        self._limit = limit
        self._keep = keep

    @property
    def size(self) -> int:
        """How many bytes have arrived."""
        return self._path.stat().st_size

    @contextmanager
    def writing(self, offset: int | None = None) -> Iterator["UploadWriter"]:
        """Open the upload to append pieces; only one caller at a time may.

        Args:
            offset: how many bytes the sender believes to have arrived.

        Raises:
            UploadRefused: the end is elsewhere, or another request is writing.
            UploadUnknown: it was finished in between.
        """
        with self._locked() as file:
            end = file.seek(0, os.SEEK_END)
            if offset is not None and offset != end:
                raise UploadRefused(f"upload {self.id} has {end} bytes; send from there on")
            yield UploadWriter(file, self._limit)

    def finish(self, digest: str | None = None) -> str:
        """Store what has arrived as a blob, and return its digest; raises WrongDigest."""
        if digest is not None:
            checked_digest(digest)
        with self._locked() as file:
            actual = f"sha256:{hashlib.file_digest(file, 'sha256').hexdigest()}"
            if digest is not None:
                check_digest(actual, digest)
            os.fsync(file.fileno())
            self._keep(self._path, actual)
        return actual

    def discard(self) -> None:
        """Remove the upload."""
        self._path.unlink(missing_ok=True)

    @contextmanager
    def _locked(self) -> Iterator[BufferedRandom]:
        try:
            file = self._path.open("r+b")
        except FileNotFoundError as error:
            raise UploadUnknown(f"upload {self.id} was finished or given up") from error
        with file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError as error:
                raise UploadRefused(f"another request writes upload {self.id}") from error
            # Whoever held the lock may have made this file a blob, which must not be written to.
            if not self._path.exists() or not os.path.samestat(
                self._path.stat(), os.fstat(file.fileno())
            ):
                raise UploadUnknown(f"upload {self.id} was finished or given up")
            try:
                yield file
            finally:
                # Closing is not enough: a child process that is being started has the file open,
                # too, until its exec.
                file.flush()
                fcntl.flock(file, fcntl.LOCK_UN)


class UploadWriter:
    """Appends pieces to an upload, up to the size limit."""

    def __init__(self, file: BufferedRandom, limit: int) -> None:
        """Made by `Upload.writing`."""
        self._file = file
        self._limit = limit

    def write(self, piece: bytes) -> None:
        """Append a piece; raises TooLarge."""
        if self._file.tell() + len(piece) > self._limit:
            raise TooLarge(f"the blob has over {self._limit} bytes, the limit of this registry")
        self._file.write(piece)


def start_upload(folder: Path, limit: int, keep: Keep) -> Upload:
    """Begin an upload in `folder`, and remove those in it that nobody continued."""
    make_private_folder(folder)
    for path in folder.iterdir():
        _remove_if_old(path)
    upload = Upload(folder / uuid.uuid4().hex, limit, keep)
    (folder / upload.id).touch(mode=0o600, exist_ok=False)
    return upload


def find_upload(folder: Path, upload_id: str, limit: int, keep: Keep) -> Upload:
    """An upload that any process began before; raises UploadUnknown."""
    try:
        well_formed = uuid.UUID(hex=upload_id).hex == upload_id
    except ValueError:
        well_formed = False
    if not well_formed or not (folder / upload_id).is_file():
        raise UploadUnknown(f"there is no upload {upload_id[:64]!r}; begin it again")
    return Upload(folder / upload_id, limit, keep)


def check_digest(actual: str, announced: str) -> None:
    """Raise WrongDigest if the two differ."""
    if actual != announced:
        raise WrongDigest(f"the content has the digest {actual}, and was announced as {announced}")


def _remove_if_old(path: Path) -> None:
    try:
        if time.time() - path.stat().st_mtime > UPLOAD_LIFE_SECONDS:
            path.unlink()
    except FileNotFoundError:
        return  # Another process finished or removed it.
