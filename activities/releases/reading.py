"""Reads a release's index and config, from a registry or its cache."""

from typing import Protocol

from apps.config.app import AppConfig
from apps.frozen import thaw
from apps.release import CONFIG_ARTIFACT_TYPE, CONFIG_MEDIA_TYPE, ReleaseIndex
from artifacts.manifests import parse_object
from artifacts.packages import only_layer
from artifacts.registry import SMALL_BLOB_LIMIT_BYTES
from contracts.builds import app_repository
from contracts.errors import NotThere

CONFIG_LIMIT_BYTES = SMALL_BLOB_LIMIT_BYTES
"""The largest frozen config, since it is read into memory."""


class Source(Protocol):
    """Where manifests and blobs are read from; each is verified by its digest."""

    def get_manifest(self, repository: str, digest: str) -> bytes:
        """The bytes of a manifest."""

    def get_blob(self, repository: str, digest: str, limit: int = ...) -> bytes:
        """The bytes of a blob of at most `limit` bytes."""


def not_of_app(app: str, release: str) -> str:
    """The message about a release that the app does not have."""
    return (
        f"release {release} is not one of app {app}: name the digest that a build of {app} printed"
    )


def read_index(source: Source, app: str, release: str) -> ReleaseIndex:
    """The release's index.

    Raises:
        ArtifactMissing, and whatever else the source raises.
        InvalidManifest, ReleaseError: it is not a release.
        NotThere: it is another app's release.
    """
    data = source.get_manifest(app_repository(app), release)
    index = ReleaseIndex.from_index(parse_object(data))
    if index.app != app:
        raise NotThere(not_of_app(app, release))
    return index


def read_config(source: Source, app: str, digest: str) -> AppConfig:
    """The frozen config, by its manifest's digest.

    Raises:
        ArtifactMissing, and whatever else the source raises.
        InvalidManifest, FrozenError: it is not a config, or it needs a newer version.
    """
    repository = app_repository(app)
    manifest = source.get_manifest(repository, digest)
    layer = only_layer(manifest, CONFIG_ARTIFACT_TYPE, CONFIG_MEDIA_TYPE)
    return thaw(source.get_blob(repository, layer.digest, CONFIG_LIMIT_BYTES))
