"""The app config as a release holds it: canonical JSON, equal bytes for an equal config."""

import json

from pydantic import BaseModel, ConfigDict, ValidationError

from apps.config.app import AppConfig

FORMAT = "1.0"
"""Major and minor. A reader refuses a higher major; a minor only adds what may be ignored."""


class FrozenError(Exception):
    """The bytes are not a frozen config that this version can read."""


class _Envelope(BaseModel):
    model_config = ConfigDict(extra="ignore", defer_build=True)

    format: str
    config: dict[str, object]


def freeze(config: AppConfig) -> bytes:
    """The config as canonical JSON: keys sorted, no space between tokens, UTF-8."""
    document = {"format": FORMAT, "config": config.model_dump(mode="json")}
    text = json.dumps(
        document, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False
    )
    return text.encode()


def thaw(data: bytes) -> AppConfig:
    """The config that `freeze` of this or another version wrote; unknown fields are ignored.

    Raises:
        FrozenError: it is not a frozen config, or needs a newer version of Exclave.
    """
    try:
        envelope = _Envelope.model_validate_json(data)
        _check_format(envelope.format)
        return AppConfig.model_validate(envelope.config)
    except ValidationError as error:
        what = "; ".join(
            f"{'.'.join(map(str, item['loc'])) or 'document'}: {item['msg']}"
            for item in error.errors(include_input=False, include_url=False)
        )
        raise FrozenError(f"the release's config cannot be read by this version: {what}") from None


def _check_format(text: str) -> None:
    ours = int(FORMAT.split(".", maxsplit=1)[0])
    major = text.split(".", maxsplit=1)[0]
    if not (major.isascii() and major.isdigit() and len(major) < 10):
        raise FrozenError(f"the release's config has format {text!r}, which is not a version")
    if int(major) > ours:
        raise FrozenError(
            f"the release's config has format {text}, and this version reads up to {ours}.x: "
            "update this Exclave worker"
        )
