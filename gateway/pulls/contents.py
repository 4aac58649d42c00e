"""The contents of a release: every manifest and blob that can be reached from its index."""

from collections import OrderedDict
from dataclasses import dataclass
from typing import Protocol

from apps.release import Descriptor
from artifacts.manifests import InvalidManifest, parse_manifest
from artifacts.names import digest_of

_MANIFESTS_AT_MOST = 10_000
"""The most that one release may have; no build makes more."""
_RELEASES_KEPT = 2_000


class ManifestMissing(LookupError):
    """The registry does not have the manifest."""


class BackendAway(Exception):
    """The registry with the releases does not answer, or gives an unusable answer; try later."""


class Manifests(Protocol):
    """A source of manifests."""

    async def manifest(self, repository: str, digest: str) -> bytes:
        """The bytes of a manifest, of at most 4 MiB.

        Raises:
            ManifestMissing: there is none with that digest.
            BackendAway: see its name.
        """


@dataclass(frozen=True)
class Contents:
    """The contents of one release."""

    repository: str
    manifests: frozenset[str]
    blobs: frozenset[str]
    whole: bool
    """Whether nothing was missing; otherwise it is read again the next time."""

    def has(self, kind: str, digest: str) -> bool:
        """Whether the manifest or blob belongs to the release."""
        return digest in (self.manifests if kind == "manifests" else self.blobs)


class ReleaseContents:
    """Reads the contents of releases, each once, since what a digest names never changes."""

    def __init__(self, manifests: Manifests) -> None:
        self._manifests = manifests
        self._known: OrderedDict[tuple[str, str], Contents] = OrderedDict()

    async def of(self, repository: str, release: str) -> Contents:
        """The contents of a release.

        Raises:
            BackendAway: they cannot be read now.
        """
        key = (repository, release)
        found = self._known.get(key)
        if found is None:
            found = await self._read(repository, release)
            if not found.whole:
                return found
            self._known[key] = found
            while len(self._known) > _RELEASES_KEPT:
                self._known.popitem(last=False)
        self._known.move_to_end(key)
        return found

    async def _read(self, repository: str, release: str) -> Contents:
        manifests = {release}
        blobs: set[str] = set()
        left, whole = [release], True
        while left:
            digest = left.pop()
            try:
                named = _named(digest, await self._manifests.manifest(repository, digest))
            except ManifestMissing:
                whole = False
                continue
            blobs.update(one.digest for one in named.blobs)
            new = {one.digest for one in named.manifests} - manifests
            manifests |= new
            left += new
            if len(manifests) > _MANIFESTS_AT_MOST:
                raise BackendAway(
                    f"{release} in {repository} names over {_MANIFESTS_AT_MOST} manifests, which "
                    "no build has made"
                )
        return Contents(repository, frozenset(manifests), frozenset(blobs), whole)


@dataclass(frozen=True)
class _Named:
    manifests: list[Descriptor]
    blobs: list[Descriptor]


def _named(digest: str, data: bytes) -> _Named:
    if digest_of(data) != digest:
        raise BackendAway(f"the registry's copy of the manifest {digest} is damaged or forged")
    try:
        found = parse_manifest(data)
    except InvalidManifest as error:
        raise BackendAway(f"the manifest {digest} cannot be read: {error}") from error
    return _Named(found.manifests, found.blobs)
