"""Writes OCI manifests, and reads manifests and indexes that anyone may have written."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field

from apps.release import MANIFEST_MEDIA_TYPE, Descriptor, ReleaseError

MANIFEST_LIMIT_BYTES = 4 * 1024 * 1024
"""The largest manifest that every registry must accept, by the specification."""

EMPTY_CONFIG = b"{}"
"""The config of an artifact that has none; its media type is `EMPTY_MEDIA_TYPE`."""
EMPTY_MEDIA_TYPE = "application/vnd.oci.empty.v1+json"


class InvalidManifest(ValueError):
    """Bytes that are not an OCI manifest or index."""


@dataclass(frozen=True)
class Manifest:
    """The type of a manifest or an index, and what it refers to."""

    media_type: str
    """Empty if it does not state one."""
    artifact_type: str
    config: Descriptor | None
    layers: list[Descriptor]
    manifests: list[Descriptor]
    annotations: Mapping[str, str] = field(default_factory=dict)

    @property
    def blobs(self) -> list[Descriptor]:
        """The config, if there is one, and the layers."""
        return [*([] if self.config is None else [self.config]), *self.layers]


def parse_manifest(data: bytes) -> Manifest:
    """Read a manifest or an index; raise InvalidManifest if it is neither."""
    content = parse_object(data)
    if content.get("schemaVersion") != 2:
        raise InvalidManifest("schemaVersion is not 2")
    config = content.get("config")
    try:
        return Manifest(
            media_type=_text(content, "mediaType"),
            artifact_type=_text(content, "artifactType"),
            config=None if config is None else Descriptor.from_dict(config),
            layers=[Descriptor.from_dict(item) for item in _list(content, "layers")],
            manifests=[Descriptor.from_dict(item) for item in _list(content, "manifests")],
            annotations=_annotations(content),
        )
    except ReleaseError as error:
        raise InvalidManifest(str(error)) from error


def parse_object(data: bytes) -> dict[str, object]:
    """The JSON object in `data`; raise InvalidManifest if there is none."""
    try:
        content = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise InvalidManifest(f"it is not JSON: {error}") from error
    if not isinstance(content, dict):
        raise InvalidManifest("it is not a JSON object")
    return content


def artifact_manifest(
    artifact_type: str,
    config: Descriptor,
    layers: list[Descriptor],
    annotations: Mapping[str, str] | None = None,
) -> bytes:
    """The bytes of an artifact's manifest, equal for equal arguments."""
    return canonical_json(
        {
            "schemaVersion": 2,
            "mediaType": MANIFEST_MEDIA_TYPE,
            "artifactType": artifact_type,
            "config": config.to_dict(),
            "layers": [layer.to_dict() for layer in layers],
            **({"annotations": dict(annotations)} if annotations else {}),
        }
    )


def canonical_json(content: object) -> bytes:
    """Canonical JSON: sorted keys, no spaces, UTF-8."""
    text = json.dumps(content, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return text.encode()


def _text(content: dict[str, object], key: str) -> str:
    value = content.get(key, "")
    if not isinstance(value, str):
        raise InvalidManifest(f"{key} is not a string")
    return value


def _annotations(content: dict[str, object]) -> dict[str, str]:
    value = content.get("annotations") or {}
    if not isinstance(value, dict) or not all(isinstance(text, str) for text in value.values()):
        raise InvalidManifest("annotations is not a map of strings")
    return value


def _list(content: dict[str, object], key: str) -> list[object]:
    value = content.get(key) or []
    if not isinstance(value, list):
        raise InvalidManifest(f"{key} is not a list")
    return value
