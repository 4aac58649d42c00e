"""A worker's own keys, which it makes on its first start, and which never leave its machine.

The Ed25519 key proves its identity, and the X25519 key opens what is sealed to it.
"""

import base64
import json
import re
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey

from contracts.access import PublicKeys
from wire.enrolment.messages import ASSERTION_ALGORITHM
from wire.enrolment.sealing import encoded
from wire.private_files import write_whole

_FILE = "keys.pem"

# In DER, private keys of these kinds always consist of this prefix and 32 bytes (PKCS #8, RFC
# 8410). cryptography can read and write them, too, but its code for all formats takes 2 MB.
_SIGNING = bytes.fromhex("302e020100300506032b657004220420")
_SEALING = bytes.fromhex("302e020100300506032b656e04220420")
_BLOCKS = re.compile(
    2 * r"\s*-----BEGIN PRIVATE KEY-----\s+([A-Za-z0-9+/]{64})\s+-----END PRIVATE KEY-----\s*"
)


class IdentityUnusable(Exception):
    """The worker's keys cannot be read or written; the message says why and what to do."""


def thumbprint(signing: bytes) -> str:
    """Identifies a worker's key, given its raw Ed25519 public key."""
    return sha256(signing).hexdigest()[:32]


@dataclass(frozen=True)
class WorkerIdentity:
    """Both keys of a worker."""

    signing: Ed25519PrivateKey
    sealing: X25519PrivateKey

    def __repr__(self) -> str:
        return f"WorkerIdentity({self.thumbprint})"

    @property
    def thumbprint(self) -> str:
        """Identifies the worker's key."""
        return thumbprint(self.signing.public_key().public_bytes_raw())

    @property
    def public(self) -> PublicKeys:
        """The public halves of both keys."""
        return PublicKeys(
            signing=encoded(self.signing.public_key().public_bytes_raw()),
            sealing=encoded(self.sealing.public_key().public_bytes_raw()),
        )

    def signed(self, claims: Mapping[str, object]) -> str:
        """Claims as a JSON Web Token (RFC 8037) for the gateway, which finds the key by its id.

        Written by hand, since the library that the gateway uses would take 2 MB of a worker.
        """
        header = {"alg": ASSERTION_ALGORITHM, "typ": "JWT", "kid": self.thumbprint}
        said = ".".join(encoded(json.dumps(part).encode()) for part in (header, claims))
        return f"{said}.{encoded(self.signing.sign(said.encode()))}"

    @staticmethod
    def generate() -> "WorkerIdentity":
        """New keys."""
        return WorkerIdentity(Ed25519PrivateKey.generate(), X25519PrivateKey.generate())

    @staticmethod
    def open(folder: Path) -> "WorkerIdentity":
        """The keys in a folder, created if it has none; only the owner can read them.

        Raises:
            IdentityUnusable: the file cannot be read, or does not contain the two keys.
        """
        path = folder / _FILE
        try:
            folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            if not path.exists():
                # A second worker of this machine may be first: both have its keys.
                with suppress(FileExistsError):
                    write_whole(path, WorkerIdentity.generate()._pem(), replaces=False)
            return _read(path)
        except OSError as error:
            raise IdentityUnusable(
                f"The worker's keys cannot be used: {error.filename}: {error.strerror}. The folder "
                "has to belong to the user that runs the worker."
            ) from error

    def _pem(self) -> bytes:
        keys = (
            _SIGNING + self.signing.private_bytes_raw(),
            _SEALING + self.sealing.private_bytes_raw(),
        )
        return b"".join(
            b"-----BEGIN PRIVATE KEY-----\n%b\n-----END PRIVATE KEY-----\n" % base64.b64encode(key)
            for key in keys
        )


def _read(path: Path) -> WorkerIdentity:
    text = path.read_text(encoding="ascii", errors="replace")
    blocks = _BLOCKS.fullmatch(text)
    signing, sealing = map(base64.b64decode, blocks.groups()) if blocks else (b"", b"")
    if not signing.startswith(_SIGNING) or not sealing.startswith(_SEALING):
        raise IdentityUnusable(_damaged(path))
    return WorkerIdentity(
        Ed25519PrivateKey.from_private_bytes(signing.removeprefix(_SIGNING)),
        X25519PrivateKey.from_private_bytes(sealing.removeprefix(_SEALING)),
    )


def _damaged(path: Path) -> str:
    return (
        f"{path} does not contain a worker's keys. Remove it, so that the worker makes new ones, "
        "and enrol it again with a new token."
    )
