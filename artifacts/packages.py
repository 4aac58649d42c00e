"""Packages: artifacts with one zip layer and OCI's empty config, as OpenTofu reads modules."""

from apps.release import MANIFEST_MEDIA_TYPE, MODULE_MEDIA_TYPE, Descriptor
from artifacts.manifests import (
    EMPTY_CONFIG,
    EMPTY_MEDIA_TYPE,
    InvalidManifest,
    artifact_manifest,
    parse_manifest,
)
from artifacts.names import digest_of
from artifacts.registry import Registry


def push_package(
    registry: Registry, repository: str, artifact_type: str, archive: bytes
) -> tuple[Descriptor, bool]:
    """Push a zip as an artifact, unless the very same is there already.

    Args:
        registry: where to.
        repository: where in it.
        artifact_type: what the zip is.
        archive: the zip's bytes.

    Returns:
        The manifest's descriptor, and whether it was there.
    """
    return push_artifact(registry, repository, artifact_type, MODULE_MEDIA_TYPE, archive)


def push_artifact(
    registry: Registry, repository: str, artifact_type: str, media_type: str, content: bytes
) -> tuple[Descriptor, bool]:
    """Push an artifact of one layer, `content`, of that media type; otherwise as `push_package`."""
    config = Descriptor(EMPTY_MEDIA_TYPE, digest_of(EMPTY_CONFIG), len(EMPTY_CONFIG))
    layer = Descriptor(media_type, digest_of(content), len(content))
    manifest = artifact_manifest(artifact_type, config, [layer])
    found = Descriptor(MANIFEST_MEDIA_TYPE, digest_of(manifest), len(manifest), artifact_type)
    if registry.has_manifest(repository, found.digest):
        return found, True
    registry.push_blob(repository, EMPTY_CONFIG)
    registry.push_blob(repository, content)
    registry.push_manifest(repository, manifest, MANIFEST_MEDIA_TYPE)
    return found, False


def only_layer(manifest: bytes, artifact_type: str, media_type: str) -> Descriptor:
    """The one layer of an artifact; raises InvalidManifest where it is of another make."""
    parsed = parse_manifest(manifest)
    if parsed.artifact_type != artifact_type:
        raise InvalidManifest(
            f"its artifactType is {parsed.artifact_type or 'missing'}, not {artifact_type}"
        )
    if len(parsed.layers) != 1 or parsed.layers[0].media_type != media_type:
        found = ", ".join(layer.media_type for layer in parsed.layers) or "none"
        raise InvalidManifest(f"it should have one layer of {media_type}; it has: {found}")
    return parsed.layers[0]
