"""Where Terraform keeps a part's state: the backend, written by us whatever the module says."""

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from activities.terraform.state_file import state_key
from activities.terraform.tool import TerraformTool
from activities.tools.environment import secrets_passed_on
from contracts.errors import ToolMissing
from store.interface import Store
from store.left_files import read_left
from store.s3_place import S3Place

_OVERRIDE = "exclave_backend_override.tf.json"
_RECORD = Path(".terraform", "terraform.tfstate")
"""Where `init` notes which backend it took."""

_IDENTITY = (
    "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "AWS_PROFILE",
    "AWS_ROLE_ARN", "AWS_ROLE_SESSION_NAME", "AWS_WEB_IDENTITY_TOKEN_FILE",
    "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI", "AWS_CONTAINER_CREDENTIALS_FULL_URI",
    "AWS_CONTAINER_AUTHORIZATION_TOKEN", "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE",
)  # fmt: skip
"""Who AWS's tools act as, by the documentation of its SDKs. Two halves make no identity."""

_WAY = (
    "AWS_REGION", "AWS_DEFAULT_REGION", "AWS_SHARED_CREDENTIALS_FILE", "AWS_CONFIG_FILE",
    "AWS_CA_BUNDLE", "AWS_EC2_METADATA_DISABLED", "AWS_USE_FIPS_ENDPOINT",
    "AWS_USE_DUALSTACK_ENDPOINT", "AWS_ENDPOINT_URL", "AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL_STS",
    "AWS_IGNORE_CONFIGURED_ENDPOINT_URLS",
)  # fmt: skip
"""Where they look for the rest: the worker's own store is found by the same."""

_FILES = {
    "AWS_SHARED_CREDENTIALS_FILE": "~/.aws/credentials",
    "AWS_CONFIG_FILE": "~/.aws/config",
    "AWS_WEB_IDENTITY_TOKEN_FILE": "",
    "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE": "",
    "AWS_CA_BUNDLE": "",
}
"""What names a file, and the file where it is not set: the tool has another home and folder."""

_SECRET = ("AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "AWS_CONTAINER_AUTHORIZATION_TOKEN")


MOST_TRIES = 5
"""Of one request of Terraform's, which takes 20 s then: what it cannot write, a person may have to
look at."""

_LOCKS_SINCE = (1, 10)
"""The version of Terraform, and of OpenTofu, that knows `use_lockfile`."""


@dataclass(frozen=True)
class Backend:
    """The backend of one part's state, as Terraform is told it."""

    kind: str
    config: Mapping[str, Any]
    environment: Mapping[str, str]
    """What Terraform needs to reach it, by the standard names. Not in a file of ours: what a
    machine's role gives out changes by the hour, and a file with secrets would stay."""

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

    def environment_beside(self, own: Mapping[str, str]) -> dict[str, str]:
        """What Terraform is given of it, where the module has variables of its own.

        Where those say who to act as, nothing of the worker's identity is mixed into that.
        """
        acts_otherwise = any(name in own for name in _IDENTITY)
        return {
            name: value
            for name, value in self.environment.items()
            if not (acts_otherwise and name in _IDENTITY)
        }

    def require(self, tool: TerraformTool) -> None:
        """Refuse a tool that cannot lock the state.

        Raises:
            ToolMissing: naming both versions.
        """
        if self.kind == "s3" and tool.numbers[:2] < _LOCKS_SINCE:
            raise ToolMissing(
                f"The install's store is in S3, whose locks {tool.name} knows since "
                f"{'.'.join(map(str, _LOCKS_SINCE))}, and this worker has {tool.version}. Install "
                "a newer one on the worker's machine."
            )

    def write(self, folder: Path) -> None:
        """Write it as an override file, which replaces whatever backend the module names."""
        override = {"terraform": {"backend": {self.kind: self.config}}}
        write_private(folder / _OVERRIDE, json.dumps(override))

    def is_used_in(self, folder: Path) -> str | None:
        """None if `init` took this backend; otherwise the kind that it took."""
        record = folder / _RECORD
        used = json.loads(read_left(record)).get("backend", {}) if record.exists() else {}
        config = used.get("config") or {}
        same = used.get("type") == self.kind and all(
            _holds(config.get(name), value) for name, value in self.config.items()
        )
        return None if same else str(used.get("type"))


def drop_torn_record(folder: Path) -> None:
    """Remove the note of a backend that an `init` was killed while writing: the next one, which
    makes it anew, would stop at it."""
    record = folder / _RECORD
    if record.exists():
        try:
            json.loads(read_left(record))
        except ValueError:
            record.unlink()


def backend_secrets(store: Store) -> list[object]:
    """What of the worker's own must not be shown, where Terraform is given it."""
    given = _given() if store.s3_place() is not None else {}
    return [*(given[name] for name in _SECRET if name in given), *secrets_passed_on()]


def _given() -> dict[str, str]:
    given = {name: os.environ[name] for name in (*_IDENTITY, *_WAY) if name in os.environ}
    files = {name: Path(given.get(name) or usual).expanduser() for name, usual in _FILES.items()}
    found = {name: str(file.absolute()) for name, file in files.items() if file.exists()}
    return given | {name: path for name, path in found.items() if given.get(name) or _FILES[name]}


def _s3(place: S3Place, key: str) -> dict[str, Any]:
    config: dict[str, Any] = {
        "bucket": place.bucket,
        "key": key,
        "use_lockfile": True,
        "max_retries": MOST_TRIES,
        # Reading the state proves the credentials; these would need addresses besides the bucket's.
        "skip_credentials_validation": True,
        "skip_requesting_account_id": True,
    }
    # Said here, so that a region which the module's variables name does not move it.
    region = place.region or _own_region()
    if place.endpoint:
        config |= {
            "endpoints": {"s3": place.endpoint},
            "use_path_style": True,
            "skip_region_validation": True,
        }
        region = region or "us-east-1"
    if region:
        config["region"] = region
    return config


def _own_region() -> str:
    """The region that the worker's own store takes, if the machine's settings say one."""
    # The store has loaded it, in the process that gets here.
    import boto3  # noqa: PLC0415

    return boto3.Session().region_name or os.environ.get("AWS_REGION", "")


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
