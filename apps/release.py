"""The release: an OCI image index whose manifests are the config and each component's artifact."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final

RELEASE_ARTIFACT_TYPE: Final = "application/vnd.exclave.release.v1"
CONFIG_ARTIFACT_TYPE: Final = "application/vnd.exclave.app-config.v1"
CONFIG_MEDIA_TYPE: Final = "application/vnd.exclave.app-config.v1+json"
SOURCE_ARTIFACT_TYPE: Final = "application/vnd.exclave.app-source.v1"
MODULE_ARTIFACT_TYPE: Final = "application/vnd.opentofu.modulepkg"
MODULE_MEDIA_TYPE: Final = "archive/zip"
TREE_ARTIFACT_TYPE: Final = "application/vnd.exclave.tree.v1"
"""A zip like a module's, with `DIRECTORY_ANNOTATION` naming the folder in it to work in. It has its
own type, since a version that does not know the annotation would work in the wrong folder."""

INDEX_MEDIA_TYPE: Final = "application/vnd.oci.image.index.v1+json"
MANIFEST_MEDIA_TYPE: Final = "application/vnd.oci.image.manifest.v1+json"

APP_ANNOTATION: Final = "org.exclave.app"
COMPONENT_ANNOTATION: Final = "org.exclave.component"
SANDBOX_ANNOTATION: Final = "org.exclave.sandbox"
"""An annotation of its own, so that versions which know only components ignore such a manifest."""

STEP_ANNOTATION: Final = "org.exclave.step"
DIRECTORY_ANNOTATION: Final = "org.exclave.directory"

_DIGEST = re.compile(r"sha256:[0-9a-f]{64}")


class ReleaseError(Exception):
    """An index that is not a release, or a release that cannot be written."""


@dataclass(frozen=True)
class Descriptor:
    """An OCI descriptor, which names a piece of content."""

    media_type: str
    digest: str
    size: int
    """In bytes."""
    artifact_type: str = ""
    annotations: Mapping[str, str] = field(default_factory=dict)

    def to_dict(self) -> dict[str, object]:
        """The descriptor as it stands in a manifest or an index."""
        found: dict[str, object] = {
            "mediaType": self.media_type,
            "digest": self.digest,
            "size": self.size,
        }
        if self.artifact_type:
            found["artifactType"] = self.artifact_type
        if self.annotations:
            found["annotations"] = dict(sorted(self.annotations.items()))
        return dict(sorted(found.items()))

    @classmethod
    def from_dict(cls, found: object) -> "Descriptor":
        """The descriptor that JSON holds.

        Raises:
            ReleaseError: a field is missing or has another type.
        """
        if not isinstance(found, Mapping):
            raise ReleaseError("a descriptor is not an object")
        size = found.get("size")
        digest = _text(found, "digest")
        if not _DIGEST.fullmatch(digest):
            raise ReleaseError(f"a descriptor's digest is {digest!r}, not sha256:<64 hex digits>")
        if not isinstance(size, int) or isinstance(size, bool) or size < 0:
            raise ReleaseError(f"the size of {digest} is not a number of bytes")
        return cls(
            media_type=_text(found, "mediaType"),
            digest=digest,
            size=size,
            artifact_type=_text(found, "artifactType", default=""),
            annotations=_annotations(found),
        )


@dataclass(frozen=True)
class ReleaseIndex:
    """What a release is made of, by digest."""

    app: str
    config: str
    """The digest of the frozen config's manifest."""
    components: Mapping[str, str]
    """The digest of each component's manifest, by the component's name."""
    sandbox: str | None = None
    """The digest of the sandbox's manifest, if the app has a sandbox."""
    steps: Mapping[str, str] = field(default_factory=dict)
    """The digest of the folder that a step of an action runs in, by `step_name`; some have none."""

    def to_index(self, descriptors: Iterable[Descriptor]) -> dict[str, object]:
        """The index as JSON, the same for the same content.

        `descriptors` give the media type, artifact type and size of every digest of the release;
        components with equal content may share one.

        Raises:
            ReleaseError: a digest of the release has no descriptor.
        """
        known = {descriptor.digest: descriptor for descriptor in descriptors}
        manifests = [_described(known, self.config, "the config", {})]
        if self.sandbox is not None:
            annotations = {SANDBOX_ANNOTATION: "true"}
            manifests.append(_described(known, self.sandbox, "the sandbox", annotations))
        for name, digest in sorted(self.components.items()):
            annotations = {COMPONENT_ANNOTATION: name}
            manifests.append(_described(known, digest, f"component `{name}`", annotations))
        for name, digest in sorted(self.steps.items()):
            annotations = {STEP_ANNOTATION: name}
            manifests.append(_described(known, digest, f"step `{name}`", annotations))
        return {
            "annotations": {APP_ANNOTATION: self.app},
            "artifactType": RELEASE_ARTIFACT_TYPE,
            "manifests": [manifest.to_dict() for manifest in manifests],
            "mediaType": INDEX_MEDIA_TYPE,
            "schemaVersion": 2,
        }

    @classmethod
    def from_index(cls, index: object) -> "ReleaseIndex":
        """The release that an index describes; manifests of unknown artifact types are ignored.

        Raises:
            ReleaseError: it is not a release, or an incomplete one.
        """
        if not isinstance(index, Mapping):
            raise ReleaseError("the index is not a JSON object")
        artifact_type = index.get("artifactType")
        if artifact_type != RELEASE_ARTIFACT_TYPE:
            raise ReleaseError(
                f"this is not a release: its artifactType is {artifact_type!r}, "
                f"not {RELEASE_ARTIFACT_TYPE}"
            )
        app = _annotations(index).get(APP_ANNOTATION)
        if not app:
            raise ReleaseError(f"the release names no app: annotation {APP_ANNOTATION} is missing")
        found = _manifests(index)
        if len(found.configs) != 1:
            raise ReleaseError(
                f"a release has exactly one config, this one has {len(found.configs)}"
            )
        if len(found.sandboxes) > 1:
            raise ReleaseError(
                f"a release has at most one sandbox, this one has {len(found.sandboxes)}"
            )
        sandbox = next(iter(found.sandboxes), None)
        return cls(app, found.configs[0], found.components, sandbox, found.steps)


@dataclass
class _Manifests:
    configs: list[str] = field(default_factory=list)
    sandboxes: list[str] = field(default_factory=list)
    components: dict[str, str] = field(default_factory=dict)
    steps: dict[str, str] = field(default_factory=dict)


def _manifests(index: Mapping[object, object]) -> _Manifests:
    manifests = index.get("manifests")
    if not isinstance(manifests, list):
        raise ReleaseError("the release has no list of manifests")
    found = _Manifests()
    for item in manifests:
        descriptor = Descriptor.from_dict(item)
        name = descriptor.annotations.get(COMPONENT_ANNOTATION)
        if name is not None:
            if name in found.components:
                raise ReleaseError(f"the release has component `{name}` twice")
            found.components[name] = descriptor.digest
        elif SANDBOX_ANNOTATION in descriptor.annotations:
            found.sandboxes.append(descriptor.digest)
        elif STEP_ANNOTATION in descriptor.annotations:
            found.steps[descriptor.annotations[STEP_ANNOTATION]] = descriptor.digest
        elif descriptor.artifact_type == CONFIG_ARTIFACT_TYPE:
            found.configs.append(descriptor.digest)
    return found


def _described(
    known: Mapping[str, Descriptor], digest: str, what: str, annotations: Mapping[str, str]
) -> Descriptor:
    found = known.get(digest)
    if found is None:
        raise ReleaseError(f"no descriptor was given for {what}: {digest}")
    return Descriptor(
        found.media_type,
        digest,
        found.size,
        found.artifact_type,
        {**found.annotations, **annotations},
    )


def _annotations(found: Mapping[object, object]) -> dict[str, str]:
    annotations = found.get("annotations") or {}
    if not isinstance(annotations, Mapping) or not all(
        isinstance(key, str) and isinstance(value, str) for key, value in annotations.items()
    ):
        raise ReleaseError("annotations are not a map of strings")
    return {str(key): str(value) for key, value in annotations.items()}


def _text(found: Mapping[object, object], key: str, default: str | None = None) -> str:
    value = found.get(key, default)
    if not isinstance(value, str):
        raise ReleaseError(f"a descriptor has no {key}")
    return value
