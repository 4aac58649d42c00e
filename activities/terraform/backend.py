"""Where Terraform keeps a part's state: the backend, written by us whatever the module says."""

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from activities.terraform.state_file import state_key
from store.interface import Store
from store.s3_place import S3Place

_OVERRIDE = "exclave_backend_override.tf.json"

_CREDENTIALS = (
    "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "AWS_PROFILE",
    "AWS_REGION", "AWS_DEFAULT_REGION", "AWS_SHARED_CREDENTIALS_FILE", "AWS_CONFIG_FILE",
    "AWS_ROLE_ARN", "AWS_ROLE_SESSION_NAME", "AWS_WEB_IDENTITY_TOKEN_FILE",
    "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI", "AWS_CONTAINER_CREDENTIALS_FULL_URI",
    "AWS_CONTAINER_AUTHORIZATION_TOKEN", "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE",
    "AWS_CA_BUNDLE", "AWS_EC2_METADATA_DISABLED",
)  # fmt: skip
"""How AWS's tools find their credentials, by the documentation of its SDKs."""

_SECRET = ("AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "AWS_CONTAINER_AUTHORIZATION_TOKEN")


@dataclass(frozen=True)
class Backend:
    """The backend of one part's state, as Terraform is told it."""

    kind: str
    config: Mapping[str, Any]
    environment: Mapping[str, str]
    """What Terraform needs to reach it, by the standard names: the worker's own, and no file of
    ours, since what a machine's role gives out changes by the hour."""

    @staticmethod
    def of(store: Store, part: str) -> "Backend":
        """The backend in the install's own store."""
        place = store.s3_place()
        if place is not None:
            return Backend("s3", _s3(place, place.object_key(state_key(part))), _given())
        path = store.local_path(state_key(part))
        if path is None:
            raise AssertionError("a store is a folder or in S3")
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        return Backend("local", {"path": str(path)}, {})

    def write(self, folder: Path) -> None:
        """Write it as an override file, which replaces whatever backend the module names."""
        override = {"terraform": {"backend": {self.kind: self.config}}}
        write_private(folder / _OVERRIDE, json.dumps(override))

    def is_used_in(self, folder: Path) -> str | None:
        """None if `init` took this backend; otherwise the kind that it took."""
        record = folder / ".terraform" / "terraform.tfstate"
        used = json.loads(record.read_bytes()).get("backend", {}) if record.exists() else {}
        config = used.get("config") or {}
        same = used.get("type") == self.kind and all(
            _holds(config.get(name), value) for name, value in self.config.items()
        )
        return None if same else str(used.get("type"))


def backend_secrets(store: Store) -> list[object]:
    """What of the worker's own must not be shown, where Terraform is given it."""
    given = _given() if store.s3_place() is not None else {}
    return [given[name] for name in _SECRET if name in given]


def _given() -> dict[str, str]:
    return {name: os.environ[name] for name in _CREDENTIALS if name in os.environ}


def _s3(place: S3Place, key: str) -> dict[str, Any]:
    config: dict[str, Any] = {
        "bucket": place.bucket,
        "key": key,
        "use_lockfile": True,
        # Reading the state proves the credentials; these would need addresses besides the bucket's.
        "skip_credentials_validation": True,
        "skip_requesting_account_id": True,
    }
    if place.region:
        config["region"] = place.region
    if place.endpoint:
        config |= {
            "endpoints": {"s3": place.endpoint},
            "use_path_style": True,
            "skip_region_validation": True,
            "skip_metadata_api_check": True,
        }
        config.setdefault("region", os.environ.get("AWS_REGION", "us-east-1"))
    return config


def _holds(found: Any, wanted: Any) -> bool:
    """Whether what Terraform noted says what was wanted; it adds what was left out."""
    if isinstance(wanted, Mapping):
        return isinstance(found, Mapping) and all(
            _holds(found.get(name), value) for name, value in wanted.items()
        )
    return bool(found == wanted)


def write_private(path: Path, text: str) -> None:
    """Write a file that its owner alone may read."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "w") as file:
        file.write(text)
