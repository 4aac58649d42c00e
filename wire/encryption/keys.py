"""The keys that encrypt payloads: one per install, derived from master keys, so nobody stores them.

The control side has master keys. From each, HKDF derives a key for each subject (see
`wire.encryption.subjects`). A worker gets only the keys of its own install, from which no other key
can be derived.

A key has an id. New payloads are encrypted with the current key, and older ones are decrypted with
the key that they name. To replace a key, add the new one, wait until every process has it, then
make it the current one. A key may be removed only when no history names it any more.
"""

import base64
import binascii
import json
import secrets
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Final, Literal, Protocol, TypeVar

from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    SecretStr,
    StringConstraints,
    ValidationError,
    model_validator,
)

from wire.encryption.key_files import KeyFileError, read_private, write_keys
from wire.encryption.subjects import ORG

_KEY_BYTES = 32
_PURPOSE: Final = b"exclave payload v1"
KeyId = Annotated[str, StringConstraints(pattern=r"^[a-z0-9][a-z0-9-]{0,62}$")]


@dataclass(frozen=True)
class Key:
    """A key of one subject."""

    id: str
    cipher: AESGCM = field(repr=False)


class Keys(Protocol):
    """The keys of a process, as the codec needs them."""

    @property
    def home(self) -> str:
        """The subject of payloads whose context names none."""

    @property
    def control(self) -> bool:
        """Whether this is the control side, which also accepts plain JSON from people."""

    def newest(self, namespace: str, subject: str) -> Key | None:
        """The key to encrypt with for the subject; None if this process has none."""

    def find(self, namespace: str, subject: str, key_id: str) -> Key | None:
        """The subject's key with this id; None if this process does not have it."""


class _Content(BaseModel):
    """What both kinds of key files have in common."""

    # `hide_input_in_errors` keeps validation errors from quoting the keys.
    model_config = ConfigDict(
        extra="forbid", frozen=True, hide_input_in_errors=True, defer_build=True
    )

    current: KeyId
    """The id of the key that encrypts new payloads."""
    keys: Annotated[dict[KeyId, SecretStr], Field(min_length=1)]

    @model_validator(mode="after")
    def _usable(self) -> "_Content":
        for key_id in self.keys:
            self.bytes_of(key_id)
        if self.current not in self.keys:
            raise ValueError(f"the current key, {self.current}, is not among the keys")
        return self

    def bytes_of(self, key_id: str) -> bytes:
        """The bytes of a key; ValueError if they are not valid."""
        try:
            key = base64.b64decode(self.keys[key_id].get_secret_value(), validate=True)
        except binascii.Error:
            key = b""
        if len(key) != _KEY_BYTES:
            raise ValueError(f"the key {key_id} is not {_KEY_BYTES} bytes in base64")
        return key

    def write(self, path: Path, *, replaces: bool = False) -> None:
        """Write the file, which only its owner can read.

        Raises:
            KeyFileError: it cannot be written, or exists and must not be replaced.
        """
        keys = {key_id: key.get_secret_value() for key_id, key in self.keys.items()}
        write_keys(path, self.model_dump() | {"keys": keys}, replaces=replaces)


class WorkerKeys(_Content):
    """The keys that a worker gets: those of its own subject only."""

    # Tolerates fields that a newer control plane adds.
    model_config = ConfigDict(
        extra="ignore", frozen=True, hide_input_in_errors=True, defer_build=True
    )

    kind: Literal["worker keys"] = "worker keys"
    namespace: str
    subject: str

    @staticmethod
    def read(path: Path) -> "WorkerKeys":
        """Read the file.

        Raises:
            KeyFileError: see its name.
        """
        return _parsed(path, WorkerKeys)

    @staticmethod
    def from_bytes(content: bytes) -> "WorkerKeys":
        """The keys that the control side sent, serialized by `to_bytes`.

        Raises:
            KeyFileError: they are not such keys.
        """
        return _checked(content, WorkerKeys, "what the control side handed over")

    def to_bytes(self) -> bytes:
        """The keys serialized; a secret, to be sealed before it is sent."""
        keys = {key_id: key.get_secret_value() for key_id, key in self.keys.items()}
        return json.dumps(self.model_dump() | {"keys": keys}).encode()

    @property
    def home(self) -> str:
        """Its own subject, to which everything that it sends belongs."""
        return self.subject

    @property
    def control(self) -> bool:
        """False: this is a worker's side."""
        return False

    def find(self, namespace: str, subject: str, key_id: str) -> Key | None:
        """The key with this id, if the subject is its own."""
        if (namespace, subject) != (self.namespace, self.subject) or key_id not in self.keys:
            return None
        return Key(key_id, AESGCM(self.bytes_of(key_id)))

    def newest(self, namespace: str, subject: str) -> Key | None:
        """The current key, if the subject is its own."""
        return self.find(namespace, subject, self.current)


class MasterKeys(_Content):
    """The control side's keys, from which every subject's keys are derived."""

    kind: Literal["master keys"] = "master keys"

    @staticmethod
    def new() -> "MasterKeys":
        """One new key, which is the current one."""
        key_id = _new_id()
        return MasterKeys(current=key_id, keys={key_id: _new_key()})

    @staticmethod
    def read(path: Path) -> "MasterKeys":
        """Read the file.

        Raises:
            KeyFileError: see its name.
        """
        return _parsed(path, MasterKeys)

    @property
    def home(self) -> str:
        """The org, to which everything belongs that has no install or app."""
        return ORG

    @property
    def control(self) -> bool:
        """True: this is the control side."""
        return True

    def with_new_key(self) -> "MasterKeys":
        """The same keys and a new one, which is not the current one yet."""
        return MasterKeys(current=self.current, keys={**self.keys, _new_id(): _new_key()})

    def using(self, key_id: str) -> "MasterKeys":
        """The same keys, with this one as the current one.

        Raises:
            KeyFileError: there is no such key.
        """
        if key_id not in self.keys:
            raise KeyFileError(
                f"there is no key {key_id}; the keys are: {', '.join(sorted(self.keys))}"
            )
        return MasterKeys(current=key_id, keys=self.keys)

    def for_subject(self, namespace: str, subject: str) -> WorkerKeys:
        """The keys that read the payloads of this subject, and no others."""
        derived = {key_id: self._derived(namespace, subject, key_id) for key_id in self.keys}
        return WorkerKeys(
            namespace=namespace,
            subject=subject,
            current=self.current,
            keys={
                key_id: SecretStr(base64.b64encode(key).decode()) for key_id, key in derived.items()
            },
        )

    def find(self, namespace: str, subject: str, key_id: str) -> Key | None:
        """The subject's key that is derived from the master key with this id."""
        if key_id not in self.keys:
            return None
        return Key(key_id, AESGCM(self._derived(namespace, subject, key_id)))

    def newest(self, namespace: str, subject: str) -> Key | None:
        """The subject's key that is derived from the current master key."""
        return self.find(namespace, subject, self.current)

    def _derived(self, namespace: str, subject: str, key_id: str) -> bytes:
        info = b"\0".join((_PURPOSE, namespace.encode(), subject.encode()))
        return HKDF(SHA256(), _KEY_BYTES, salt=None, info=info).derive(self.bytes_of(key_id))


K = TypeVar("K", MasterKeys, WorkerKeys)


def _parsed(path: Path, kind: type[K]) -> K:
    return _checked(read_private(path), kind, str(path))


def _checked(content: str | bytes, kind: type[K], where: str) -> K:
    try:
        return kind.model_validate_json(content)
    except ValidationError as error:
        problems = "; ".join(
            f"{'.'.join(str(part) for part in found['loc']) or 'the file'}: {found['msg']}"
            for found in error.errors(include_input=False, include_url=False)
        )
        raise KeyFileError(f"{where} is not a file of {_called(kind)}: {problems}") from None


def _called(kind: type[BaseModel]) -> str:
    return str(kind.model_fields["kind"].default)


def _new_id() -> str:
    return f"{datetime.now(UTC):%Y-%m-%d}-{secrets.token_hex(3)}"


def _new_key() -> SecretStr:
    return SecretStr(base64.b64encode(secrets.token_bytes(_KEY_BYTES)).decode())
