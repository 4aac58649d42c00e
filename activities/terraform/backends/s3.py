"""The backend for a store in S3: Terraform writes its state as whole objects.

The lock is an object beside the state (`use_lockfile`), which stays if its holder is killed.
"""

import json
import os
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import cached_property
from pathlib import Path
from typing import Any, Final

from activities.operations.status import ToolEnd
from activities.terraform import store_faults
from activities.terraform.backends.interface import Backend
from activities.terraform.running_processes import may_be_open
from activities.terraform.state_keys import lock_key, state_key
from activities.terraform.state_lock import StateLock, parse_lock
from activities.terraform.tool import TerraformTool
from contracts.errors import ToolMissing
from store.errors import Conflict
from store.interface import ABSENT, Store
from store.s3_place import S3Place

_IDENTITY = (
    "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "AWS_PROFILE",
    "AWS_ROLE_ARN", "AWS_ROLE_SESSION_NAME", "AWS_WEB_IDENTITY_TOKEN_FILE",
    "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI", "AWS_CONTAINER_CREDENTIALS_FULL_URI",
    "AWS_CONTAINER_AUTHORIZATION_TOKEN", "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE",
)  # fmt: skip
"""Variables that choose the identity of AWS tools, from the documentation of the AWS SDKs. They are
passed on together or not at all, since parts of two identities would not work."""

_WAY = (
    "AWS_REGION", "AWS_DEFAULT_REGION", "AWS_SHARED_CREDENTIALS_FILE", "AWS_CONFIG_FILE",
    "AWS_CA_BUNDLE", "AWS_EC2_METADATA_DISABLED", "AWS_USE_FIPS_ENDPOINT",
    "AWS_USE_DUALSTACK_ENDPOINT", "AWS_ENDPOINT_URL", "AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL_STS",
    "AWS_IGNORE_CONFIGURED_ENDPOINT_URLS",
)  # fmt: skip
"""Variables with which AWS tools find services and files; the worker's own store uses them too."""

_FILES = {
    "AWS_SHARED_CREDENTIALS_FILE": "~/.aws/credentials",
    "AWS_CONFIG_FILE": "~/.aws/config",
    "AWS_WEB_IDENTITY_TOKEN_FILE": "",
    "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE": "",
    "AWS_CA_BUNDLE": "",
}
"""Variables that name a file, with the default file. Set explicitly and as absolute paths, since
the tool runs with another home and in another folder."""

_SECRET = ("AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "AWS_CONTAINER_AUTHORIZATION_TOKEN")


MOST_TRIES = 5
"""How often Terraform tries one request, which takes up to 20 s. Not more, since a person may have
to deal with a state that it cannot write."""

_LOCKS_SINCE = (1, 10)
"""The first version of Terraform, and of OpenTofu, that knows `use_lockfile`."""

_FAULT: Final = re.compile(
    r"operation error S3: \w+, .{0,200}?(StatusCode: (0|429|5\d\d)\b|request send failed)"
)


class S3Backend(Backend):
    """The state is an object."""

    kind = "s3"
    identity = _IDENTITY

    @classmethod
    def serves(cls, store: Store) -> bool:
        """Whether the store is in S3."""
        return store.s3_place() is not None

    @cached_property
    def _place(self) -> S3Place:
        place = self.store.s3_place()
        if place is None:
            raise AssertionError("the store is in S3")
        return place

    @property
    def _key(self) -> str:
        """The state's key in the bucket."""
        return self._place.object_key(state_key(self.part))

    @cached_property
    def config(self) -> Mapping[str, Any]:
        """The bucket, the key, and how both are reached."""
        return _config(self._place, self._key)

    @cached_property
    def environment(self) -> Mapping[str, str]:
        """The worker's own AWS variables."""
        return _given()

    @classmethod
    def worker_secrets(cls) -> list[object]:
        """Keys and tokens of the worker's identity."""
        given = _given()
        return [given[name] for name in _SECRET if name in given]

    def require(self, tool: TerraformTool) -> None:
        """Refuse a tool that does not know `use_lockfile`."""
        if tool.numbers[:2] < _LOCKS_SINCE:
            raise ToolMissing(
                f"The install's store is in S3, which {tool.name} can lock since version "
                f"{'.'.join(map(str, _LOCKS_SINCE))}, but this worker has {tool.version}. Install "
                "a newer one on the worker's machine."
            )

    def where(self) -> str:
        """The state's URL."""
        return f"s3://{self._place.bucket}/{self._key}"

    def read_lock(self) -> StateLock | None:
        """The lock's object, if there is one."""
        found = self.store.get(lock_key(self.part))
        return parse_lock(found.data, found.etag) if found else None

    @contextmanager
    def hold_lock(self, info: Mapping[str, str]) -> Iterator[None]:
        """Put the lock's object, and remove exactly that one at the end."""
        content = json.dumps({**info, "Path": f"{self._place.bucket}/{self._key}"}).encode()
        etag = self.store.put(lock_key(self.part), content, if_match=ABSENT)
        try:
            yield
        finally:
            with suppress(Conflict):
                self.store.delete(lock_key(self.part), if_match=etag)

    def break_lock(self, lock: StateLock) -> None:
        """Remove exactly the version of the object that was read."""
        self.store.delete(lock_key(self.part), if_match=lock.etag)

    def may_be_open(self) -> bool:
        """Whether a Terraform process runs in a folder that was initialised for this state."""
        return may_be_open(self._place.bucket, self._key)

    def way_out(self, lock: StateLock, folder: Path) -> str:
        """Removing the lock's object, with Terraform if the lock has an id."""
        if not lock.id:
            where = f"s3://{self._place.bucket}/{self._place.object_key(lock_key(self.part))}"
            return f"if you are sure that it is dead, remove the lock: `aws s3 rm {where}`."
        return (
            "if you are sure that it is dead, break exactly its lock: "
            f"`terraform force-unlock -force {lock.id}` in {folder}."
        )

    def may_pass(self, end: ToolEnd) -> bool:
        """As Terraform's messages about requests to this bucket show."""
        bucket = f'"{self._place.bucket}"'
        return store_faults.may_pass(
            end, lambda said: bucket in said and _FAULT.search(said) is not None
        )


def _given() -> dict[str, str]:
    given = {name: os.environ[name] for name in (*_IDENTITY, *_WAY) if name in os.environ}
    files = {name: Path(given.get(name) or usual).expanduser() for name, usual in _FILES.items()}
    found = {name: str(file.absolute()) for name, file in files.items() if file.exists()}
    return given | {name: path for name, path in found.items() if given.get(name) or _FILES[name]}


def _config(place: S3Place, key: str) -> dict[str, Any]:
    config: dict[str, Any] = {
        "bucket": place.bucket,
        "key": key,
        "use_lockfile": True,
        "max_retries": MOST_TRIES,
        # Reading the state proves the credentials; these checks would need other addresses too.
        "skip_credentials_validation": True,
        "skip_requesting_account_id": True,
    }
    # Set explicitly, so that a region in the module's variables does not change it.
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
    """The region that the worker's own store uses, if the machine's settings name one."""
    # The store has already imported it in this process.
    import boto3  # noqa: PLC0415

    return boto3.Session().region_name or os.environ.get("AWS_REGION", "")
