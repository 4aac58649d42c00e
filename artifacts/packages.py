"""Packages: artifacts with one zip layer and OCI's empty config, as OpenTofu expects of modules."""

from dataclasses import dataclass
from pathlib import PurePosixPath

from apps.release import (
    DIRECTORY_ANNOTATION,
    MANIFEST_MEDIA_TYPE,
    MODULE_ARTIFACT_TYPE,
    MODULE_MEDIA_TYPE,
    TREE_ARTIFACT_TYPE,
    Descriptor,
)
from artifacts.archive import name_problem
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
    """Push a zip as an artifact, unless the very same one is there already.

    Args:
        registry: the registry to push to.
        repository: the repository in it.
        artifact_type: the type of the artifact.
        archive: the zip's bytes.

    Returns:
        The manifest's descriptor, and whether it was there already.
    """
    return push_artifact(registry, repository, artifact_type, MODULE_MEDIA_TYPE, archive)


def push_tree(
    registry: Registry, repository: str, archive: bytes, directory: str
) -> tuple[Descriptor, bool]:
    """Push a zip whose working folder is `directory`, or its root if that is empty.

    Otherwise as `push_package`.
    """
    annotations = {DIRECTORY_ANNOTATION: directory} if directory else {}
    manifest = artifact_manifest(
        TREE_ARTIFACT_TYPE, _NO_CONFIG, [_layer(MODULE_MEDIA_TYPE, archive)], annotations
    )
    return _push(registry, repository, TREE_ARTIFACT_TYPE, manifest, archive)


def push_artifact(
    registry: Registry, repository: str, artifact_type: str, media_type: str, content: bytes
) -> tuple[Descriptor, bool]:
    """Push an artifact with `content` as its only layer; otherwise as `push_package`."""
    manifest = artifact_manifest(artifact_type, _NO_CONFIG, [_layer(media_type, content)])
    return _push(registry, repository, artifact_type, manifest, content)


_NO_CONFIG = Descriptor(EMPTY_MEDIA_TYPE, digest_of(EMPTY_CONFIG), len(EMPTY_CONFIG))


def _layer(media_type: str, content: bytes) -> Descriptor:
    return Descriptor(media_type, digest_of(content), len(content))


def _push(
    registry: Registry, repository: str, artifact_type: str, manifest: bytes, content: bytes
) -> tuple[Descriptor, bool]:
    found = Descriptor(MANIFEST_MEDIA_TYPE, digest_of(manifest), len(manifest), artifact_type)
    if registry.has_manifest(repository, found.digest):
        return found, True
    registry.push_blob(repository, EMPTY_CONFIG)
    registry.push_blob(repository, content)
    registry.push_manifest(repository, manifest, MANIFEST_MEDIA_TYPE)
    return found, False


@dataclass(frozen=True)
class Package:
    """A zip of files."""

    layer: Descriptor
    directory: PurePosixPath
    """The working folder in it; `.` for its root."""


def package(manifest: bytes) -> Package:
    """The package that a manifest describes: a module or a tree; else raises InvalidManifest."""
    layer = only_layer(manifest, (MODULE_ARTIFACT_TYPE, TREE_ARTIFACT_TYPE), MODULE_MEDIA_TYPE)
    directory = parse_manifest(manifest).annotations.get(DIRECTORY_ANNOTATION, "")
    if directory and any(map(name_problem, directory.split("/"))):
        raise InvalidManifest(f"its directory {directory!r} is not within it")
    return Package(layer, PurePosixPath(directory))


def only_layer(
    manifest: bytes, artifact_type: str | tuple[str, ...], media_type: str
) -> Descriptor:
    """The only layer of an artifact; raises InvalidManifest if its type or layers differ."""
    parsed = parse_manifest(manifest)
    types = (artifact_type,) if isinstance(artifact_type, str) else artifact_type
    if parsed.artifact_type not in types:
        raise InvalidManifest(
            f"its artifactType is {parsed.artifact_type or 'missing'}, not {' or '.join(types)}"
        )
    if len(parsed.layers) != 1 or parsed.layers[0].media_type != media_type:
        found = ", ".join(layer.media_type for layer in parsed.layers) or "none"
        raise InvalidManifest(f"it should have one layer of {media_type}; it has: {found}")
    return parsed.layers[0]
