"""A client of OCI registries: pushes and fetches blobs and manifests, and verifies their digests.

One `Registry` may be used by many threads at once. Its errors are in `artifacts.errors`: every
method may raise RegistryUnreachable and RegistryRefused; those that read may also raise
ArtifactMissing, DigestMismatch and ArtifactTooLarge.
"""

import ssl
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import Self

import httpx

from apps.release import INDEX_MEDIA_TYPE, MANIFEST_MEDIA_TYPE, Descriptor
from artifacts.download import Download
from artifacts.errors import ArtifactMissing, ArtifactTooLarge, DigestMismatch
from artifacts.layout import BLOB_LIMIT_BYTES
from artifacts.manifests import MANIFEST_LIMIT_BYTES, parse_manifest
from artifacts.names import (
    CHUNK_BYTES,
    checked_digest,
    checked_reference,
    checked_repository,
    digest_of,
    digest_of_file,
    keeping_tag,
)
from artifacts.transport import Transport

SMALL_BLOB_LIMIT_BYTES = 16 * 1024 * 1024
"""The largest blob that is read into memory."""

_ACCEPT_MANIFESTS = {"Accept": f"{MANIFEST_MEDIA_TYPE}, {INDEX_MEDIA_TYPE}"}
_TIMEOUT = httpx.Timeout(60, connect=5)
_OCTETS = "application/octet-stream"


class Registry:
    """A registry at one address."""

    def __init__(
        self,
        base_url: str,
        *,
        timeout: httpx.Timeout = _TIMEOUT,
        auth: httpx.Auth | None = None,
        trust: ssl.SSLContext | None = None,
        keeps: bool = False,
    ) -> None:
        """Does not connect yet.

        Args:
            base_url: scheme, host, port and, behind a gateway, the path above `/v2/`.
            timeout: seconds for connecting, and for each wait for the next bytes.
            auth: authenticates each request.
            trust: the authorities that may have signed its certificate; by default, the well-known
                ones.
            keeps: give each pushed manifest a tag of its own, which protects it from the registry's
                garbage collector; behind a gateway, the gateway does that.
        """
        self._keeps = keeps
        self.address = base_url.rstrip("/")
        self._transport = Transport(self.address, timeout, auth, trust)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the connections."""
        self._transport.close()

    def has_blob(self, repository: str, digest: str) -> bool:
        """Whether the repository has the blob."""
        return self._has(self._url(repository, "blobs", checked_digest(digest)))

    def has_manifest(self, repository: str, reference: str) -> bool:
        """Whether the repository has the manifest, by tag or digest.

        With `keeps`, a manifest that is there without its protecting tag gets it.
        """
        has = self._has(self._url(repository, "manifests", checked_reference(reference)))
        if has and self._keeps and reference.startswith("sha256:"):
            self._keep(repository, reference)
        return has

    def _keep(self, repository: str, digest: str) -> None:
        if self._has(self._url(repository, "manifests", keeping_tag(digest))):
            return
        data = self.get_manifest(repository, digest)
        self.push_manifest(repository, data, parse_manifest(data).media_type)

    def push_blob(
        self, repository: str, content: bytes | Path, media_type: str = _OCTETS
    ) -> Descriptor:
        """Push a blob, unless it is there already, and return its descriptor.

        Args:
            repository: the repository to push to.
            content: its bytes, or the file with them, which must not change meanwhile.
            media_type: used only in the descriptor; blobs in a registry have none.
        """
        if isinstance(content, bytes):
            blob = Descriptor(media_type, digest_of(content), len(content))
        else:
            blob = Descriptor(media_type, digest_of_file(content), content.stat().st_size)
        if not self.has_blob(repository, blob.digest):
            self._upload(repository, blob, content)
        return blob

    def push_manifest(
        self, repository: str, data: bytes, media_type: str, *, tag: str | None = None
    ) -> Descriptor:
        """Push a manifest or index, whose content the repository must have already.

        Args:
            repository: the repository to push to.
            data: the manifest's bytes.
            media_type: its media type.
            tag: a tag to set; without one, it can be fetched only by its digest.
        """
        digest = digest_of(data)
        references = [tag or digest]
        if self._keeps:
            references.append(keeping_tag(digest))
        headers = {"Content-Type": media_type}
        for reference in references:
            url = self._url(repository, "manifests", checked_reference(reference))
            with self._transport.stream("PUT", url, content=data, headers=headers) as response:
                self._transport.expect_success(response)
        return Descriptor(media_type, digest, len(data))

    def get_manifest(self, repository: str, digest: str) -> bytes:
        """The bytes of a manifest, of at most 4 MiB."""
        url = self._url(repository, "manifests", checked_digest(digest))
        return self._read(url, digest, MANIFEST_LIMIT_BYTES, f"manifest {digest} of {repository}")

    def get_blob(self, repository: str, digest: str, limit: int = SMALL_BLOB_LIMIT_BYTES) -> bytes:
        """The bytes of a blob that has at most `limit` bytes."""
        url = self._url(repository, "blobs", checked_digest(digest))
        return self._read(url, digest, limit, f"blob {digest} of {repository}")

    def fetch_blob(
        self, repository: str, digest: str, destination: Path, limit: int = BLOB_LIMIT_BYTES
    ) -> None:
        """Fetch a blob into a file (mode 0600), which appears once its digest is verified.

        If the connection breaks, the transfer resumes over a new one.

        Args:
            repository: the repository to fetch from.
            digest: the blob's digest.
            destination: the file; replaced if it exists.
            limit: the most bytes to accept.
        """
        url = self._url(repository, "blobs", checked_digest(digest))
        what = f"blob {digest} of {repository}"
        Download(self._transport, url, what, limit).run(digest, destination)

    def _url(self, repository: str, kind: str, reference: str) -> httpx.URL:
        return httpx.URL(f"{self.address}/v2/{checked_repository(repository)}/{kind}/{reference}")

    def _has(self, url: httpx.URL) -> bool:
        with self._transport.stream("HEAD", url, headers=_ACCEPT_MANIFESTS) as response:
            if response.status_code == httpx.codes.NOT_FOUND:
                return False
            self._transport.expect_success(response)
            return True

    def _upload(self, repository: str, blob: Descriptor, content: bytes | Path) -> None:
        url = self._url(repository, "blobs", "uploads/")
        with self._transport.stream("POST", url, headers={"Content-Length": "0"}) as response:
            session = self._transport.location(self._transport.expect_success(response))
        with self._transport.stream(
            "PUT",
            session.copy_merge_params({"digest": blob.digest}),
            content=content if isinstance(content, bytes) else _pieces(content),
            headers={"Content-Type": _OCTETS, "Content-Length": str(blob.size)},
        ) as response:
            self._transport.expect_success(response)

    def _read(self, url: httpx.URL, digest: str, limit: int, what: str) -> bytes:
        headers = {**_ACCEPT_MANIFESTS, "Accept-Encoding": "identity"}
        data = bytearray()
        with self._transport.stream("GET", url, headers=headers) as response:
            if response.status_code == httpx.codes.NOT_FOUND:
                raise ArtifactMissing(what, self.address)
            self._transport.expect_success(response)
            for piece in response.iter_raw():
                data += piece
                if len(data) > limit:
                    raise ArtifactTooLarge(what, limit)
        if (actual := digest_of(bytes(data))) != digest:
            raise DigestMismatch(what, actual)
        return bytes(data)


def _pieces(path: Path) -> Iterator[bytes]:
    with path.open("rb") as file:
        while piece := file.read(CHUNK_BYTES):
            yield piece
