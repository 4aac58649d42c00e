"""A folder of OCI image layouts, one per repository, that several processes may use at once.

    <root>/apps+shop/oci-layout             the repository apps/shop, by itself a valid layout
    <root>/apps+shop/index.json             its manifests, and their tags
    <root>/apps+shop/blobs/sha256/<hex>     manifests and blobs
    <root>/.uploads/apps+shop/<id>          uploads that are not finished
    <root>/.locks/apps+shop                 held while index.json changes

A repository's slashes become `+`, which no repository name may contain, so two names never share a
folder and none can lead out of the root. Nothing is shared between repositories: whoever may read
one learns nothing about another. A file is renamed into place after its content is on the disk, so
a reader sees all of it or nothing, also after a crash.
"""

import fcntl
import json
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from apps.release import INDEX_MEDIA_TYPE, Descriptor
from artifacts.manifests import (
    MANIFEST_LIMIT_BYTES,
    InvalidManifest,
    canonical_json,
    parse_manifest,
)
from artifacts.names import checked_reference, checked_repository, digest_of, hex_of, is_digest
from artifacts.uploads import TooLarge, Upload, check_digest, find_upload, start_upload
from wire.private_files import make_private_folder, move_whole, write_whole

BLOB_LIMIT_BYTES = 2 * 1024**3
"""The default limit of a blob's size."""

_TAG_ANNOTATION = "org.opencontainers.image.ref.name"


class BlobUnknown(LookupError):
    """The repository has no such blob."""


class ManifestUnknown(LookupError):
    """The repository has no such manifest."""


class ReferenceUnknown(LookupError):
    """A manifest names a blob or manifest that the repository does not have."""


@dataclass(frozen=True)
class StoredManifest:
    """A manifest as the layout stores it."""

    descriptor: Descriptor
    data: bytes


class Layout:
    """The folder that holds all repositories."""

    def __init__(self, root: Path, *, blob_limit: int = BLOB_LIMIT_BYTES) -> None:
        """Serve the repositories below `root`, which is created with the first write.

        Args:
            root: the folder, on one local file system.
            blob_limit: the largest blob to accept, in bytes.
        """
        self.root = root
        self.blob_limit = blob_limit

    def repository(self, name: str) -> "Repository":
        """The repository of that name, which need not exist; raises InvalidName."""
        flat = checked_repository(name).replace("/", "+")
        return Repository(name, self.root, flat, self.blob_limit)


class Repository:
    """One repository: its blobs, manifests, tags, and uploads in progress."""

    def __init__(self, name: str, root: Path, flat: str, blob_limit: int) -> None:
        """Made by `Layout.repository`."""
        self.name = name
        self.folder = root / flat
        self._blobs = self.folder / "blobs" / "sha256"
        self._uploads = root / ".uploads" / flat
        self._lock = root / ".locks" / flat
        self._blob_limit = blob_limit

    def blob(self, digest: str) -> Path:
        """The file of a blob, for reading; raises InvalidDigest or BlobUnknown."""
        path = self._blobs / hex_of(digest)
        if not path.is_file():
            raise BlobUnknown(f"{self.name} has no blob {digest}")
        return path

    def put_blob(self, pieces: bytes | Iterable[bytes], digest: str | None = None) -> str:
        """Store a blob, and return its digest.

        Args:
            pieces: the content, whole or in pieces.
            digest: the digest that the content must have, if one was announced.

        Raises (nothing is stored then):
            WrongDigest: the content has another digest.
            TooLarge: it is over the limit.
        """
        upload = self.start_upload()
        try:
            with upload.writing() as writer:
                for piece in [pieces] if isinstance(pieces, bytes) else pieces:
                    writer.write(piece)
            return upload.finish(digest)
        except BaseException:
            upload.discard()
            raise

    def start_upload(self) -> Upload:
        """Begin the upload of a blob in pieces; removes uploads that were idle for a day."""
        return start_upload(self._uploads, self._blob_limit, self._keep)

    def upload(self, upload_id: str) -> Upload:
        """An upload that any process began before; raises UploadUnknown."""
        return find_upload(self._uploads, upload_id, self._blob_limit, self._keep)

    def manifest(self, reference: str) -> StoredManifest:
        """The manifest of a tag or digest; raises InvalidName or ManifestUnknown."""
        checked_reference(reference)
        for entry in self._index():
            if reference == (entry.digest if is_digest(reference) else entry.tag):
                data = self.blob(entry.digest).read_bytes()
                return StoredManifest(Descriptor(entry.media_type, entry.digest, len(data)), data)
        raise ManifestUnknown(f"{self.name} has no manifest {reference}")

    def put_manifest(
        self, data: bytes, media_type: str, reference: str | None = None
    ) -> Descriptor:
        """Store a manifest; the blobs and manifests it names must be in this repository already.

        Args:
            data: the manifest's bytes, at most 4 MiB.
            media_type: stored and returned along with it.
            reference: a tag to set, or the digest that the bytes must have.

        Raises:
            InvalidManifest: it is not a manifest, or states another media type.
            ReferenceUnknown: something that it names is not here.
            WrongDigest, TooLarge, InvalidName: see their names.
        """
        if len(data) > MANIFEST_LIMIT_BYTES:
            raise TooLarge(f"the manifest has over {MANIFEST_LIMIT_BYTES} bytes")
        digest = digest_of(data)
        if reference is not None and is_digest(checked_reference(reference)):
            check_digest(digest, reference)
            reference = None
        self._check_references(data, media_type)
        self.put_blob(data, digest)
        self._record(_Entry(media_type, digest, len(data), tag=reference))
        return Descriptor(media_type, digest, len(data))

    def tags(self) -> list[str]:
        """Every tag, sorted."""
        return sorted(entry.tag for entry in self._index() if entry.tag is not None)

    def _keep(self, path: Path, digest: str) -> None:
        move_whole(path, self._blobs / hex_of(digest))

    def _check_references(self, data: bytes, media_type: str) -> None:
        manifest = parse_manifest(data)
        if manifest.media_type not in ("", media_type):
            raise InvalidManifest(
                f"the manifest says it is {manifest.media_type}, and was sent as {media_type}"
            )
        known = {entry.digest for entry in self._index()} if manifest.manifests else set()
        for named in manifest.manifests:
            if named.digest not in known:
                raise ReferenceUnknown(f"{self.name} has no manifest {named.digest}: push it first")
        for named in manifest.blobs + manifest.manifests:
            self._check_size(named)

    def _check_size(self, named: Descriptor) -> None:
        try:
            size = self.blob(named.digest).stat().st_size
        except BlobUnknown as error:
            raise ReferenceUnknown(f"{error}: push it first") from error
        if size != named.size:
            raise InvalidManifest(
                f"{named.digest} has {size} bytes, and the manifest says {named.size}"
            )

    def _index(self) -> list["_Entry"]:
        try:
            data = (self.folder / "index.json").read_bytes()
        except FileNotFoundError:
            return []
        return [_Entry.parse(item) for item in json.loads(data)["manifests"]]

    def _record(self, new: "_Entry") -> None:
        with self._locked():
            entries = self._index()
            merged = _merged(entries, new)
            if merged != entries:
                self._write_index(merged)

    def _write_index(self, entries: list["_Entry"]) -> None:
        write_whole(self.folder / "oci-layout", canonical_json({"imageLayoutVersion": "1.0.0"}))
        index = {
            "schemaVersion": 2,
            "mediaType": INDEX_MEDIA_TYPE,
            "manifests": [entry.as_json() for entry in entries],
        }
        write_whole(self.folder / "index.json", canonical_json(index))

    @contextmanager
    def _locked(self) -> Iterator[None]:
        """Lets only one thread of one process change the index at a time."""
        make_private_folder(self._lock.parent)
        with self._lock.open("w") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            yield


@dataclass(frozen=True)
class _Entry:
    """An entry of index.json: a manifest has one for each of its tags, or one without a tag."""

    media_type: str
    digest: str
    size: int
    tag: str | None

    @classmethod
    def parse(cls, item: object) -> "_Entry":
        found = Descriptor.from_dict(item)
        tag = found.annotations.get(_TAG_ANNOTATION)
        return cls(found.media_type, found.digest, found.size, tag)

    def as_json(self) -> dict[str, object]:
        annotations = {} if self.tag is None else {_TAG_ANNOTATION: self.tag}
        return Descriptor(
            self.media_type, self.digest, self.size, annotations=annotations
        ).to_dict()


def _merged(entries: list[_Entry], new: _Entry) -> list[_Entry]:
    """The entries with the new one added; a tag moves to it, and its former manifest stays."""
    moved = [
        replace(entry, tag=None) if new.tag is not None and entry.tag == new.tag else entry
        for entry in entries
    ]
    unique = list(dict.fromkeys([*moved, new]))
    tagged = {entry.digest for entry in unique if entry.tag is not None}
    return [entry for entry in unique if entry.tag is not None or entry.digest not in tagged]
