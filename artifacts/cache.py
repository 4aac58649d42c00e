"""A local cache of what was fetched from a registry, by repository and digest.

Only the worker's user can read it. A file that no longer has its digest is fetched again. Content
cached for one repository is never returned for another, which may not have it.
"""

from pathlib import Path

from artifacts.archive import MAX_BYTES
from artifacts.names import checked_repository, digest_of, digest_of_file, hex_of
from artifacts.registry import SMALL_BLOB_LIMIT_BYTES, Registry
from wire.private_files import make_private_folder, write_whole


class ArtifactCache:
    """A registry with a folder that caches what was read from it; thread-safe."""

    def __init__(self, registry: Registry, folder: Path) -> None:
        """Keep files below `folder`, which is created with the first one."""
        self._registry = registry
        self._folder = folder

    def get_manifest(self, repository: str, digest: str) -> bytes:
        """As `Registry.get_manifest`."""
        path = self._path(repository, digest)
        data = _read(path)
        if data is None or digest_of(data) != digest:
            data = self._registry.get_manifest(repository, digest)
            _keep(path, data)
        return data

    def get_blob(self, repository: str, digest: str, limit: int = SMALL_BLOB_LIMIT_BYTES) -> bytes:
        """As `Registry.get_blob`."""
        path = self._path(repository, digest)
        data = _read(path)
        if data is None or digest_of(data) != digest:
            data = self._registry.get_blob(repository, digest, limit)
            _keep(path, data)
        return data

    def blob_file(self, repository: str, digest: str, limit: int = MAX_BYTES) -> Path:
        """The file of a blob, which the caller only reads; `limit` is in bytes."""
        path = self._path(repository, digest)
        if not path.is_file() or digest_of_file(path) != digest:
            self._registry.fetch_blob(repository, digest, path, limit)
        return path

    def _path(self, repository: str, digest: str) -> Path:
        return self._folder / checked_repository(repository).replace("/", "+") / hex_of(digest)


def _keep(path: Path, data: bytes) -> None:
    make_private_folder(path.parent)
    write_whole(path, data)


def _read(path: Path) -> bytes | None:
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return None
