"""The control side's enrolment key: it makes tokens, and derives each token's secret from its id.

Gateways do not have it. So a stolen gateway cannot make a token, cannot enrol its own key with a
token that passes through it, and cannot answer a worker in the control side's name.
"""

import hmac
import secrets
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from contracts.access import TOKEN_KEYS
from wire.encryption.key_files import KeyFileError, read_private
from wire.enrolment.sealing import CannotUnseal, decoded, encoded, unseal
from wire.enrolment.token import EnrolmentToken, TokenId, signed_by_one_of
from wire.private_files import write_new

_KEY_BYTES = 32


class EnrolmentKeyUnusable(Exception):
    """The enrolment key cannot be read; the message says why and what to do."""


@dataclass(frozen=True)
class EnrolmentKey:
    """One key of the control side, and the keys derived from it."""

    secret: bytes

    def __repr__(self) -> str:
        return f"EnrolmentKey({self.public})"

    @staticmethod
    def read(path: Path) -> "EnrolmentKey":
        """Reads a key from a file: 32 random bytes as base64url.

        Raises:
            EnrolmentKeyUnusable: the file cannot be read, or does not hold a key.
        """
        try:
            secret = decoded(read_private(path).strip())
        except KeyFileError as error:
            raise EnrolmentKeyUnusable(f"The enrolment key cannot be used: {error}") from error
        except ValueError as error:
            raise EnrolmentKeyUnusable(_no_key(path)) from error
        if len(secret) != _KEY_BYTES:
            raise EnrolmentKeyUnusable(_no_key(path))
        return EnrolmentKey(secret)

    @staticmethod
    def make(path: Path) -> "EnrolmentKey":
        """Write a new key into a new file that only its owner can read.

        Raises:
            FileExistsError: the file exists.
        """
        key = EnrolmentKey(secrets.token_bytes(_KEY_BYTES))
        write_new(path, f"{encoded(key.secret)}\n".encode("ascii"))
        return key

    def token(self, id: str) -> EnrolmentToken:
        """The token with that id."""
        return EnrolmentToken(id, hmac.digest(self._derived(b"tokens"), id.encode(), "sha256"))

    @property
    def signing(self) -> Ed25519PrivateKey:
        """The key that signs answers to workers."""
        return Ed25519PrivateKey.from_private_bytes(self._derived(b"answers"))

    @property
    def opening(self) -> X25519PrivateKey:
        """The key that opens what workers seal to the control side."""
        return X25519PrivateKey.from_private_bytes(self._derived(b"documents"))

    @property
    def public(self) -> str:
        """The public halves, which stacks carry: a worker checks the control side's answer with
        them, and seals to it."""
        return encoded(
            self.signing.public_key().public_bytes_raw()
            + self.opening.public_key().public_bytes_raw()
        )

    def _derived(self, purpose: bytes) -> bytes:
        info = b"exclave enrolment v1 " + purpose
        return HKDF(algorithm=SHA256(), length=32, salt=None, info=info).derive(self.secret)


def _no_key(path: Path) -> str:
    return f"{path} is not an enrolment key, which is 32 random bytes as base64url."


class EnrolmentAuthority:
    """All keys of the control side: the newest makes tokens, each still checks its own."""

    def __init__(self, keys: Sequence[EnrolmentKey]) -> None:
        """Use these keys, the newest first; there must be at least one."""
        if not keys:
            raise EnrolmentKeyUnusable("There is no enrolment key; name at least one.")
        self._keys = tuple(keys)

    @property
    def public(self) -> str:
        """The newest key's public half."""
        return self._keys[0].public

    def mint(self, id: TokenId) -> EnrolmentToken:
        """Make a token."""
        key = self._keys[0]
        return key.token(str(id.signed(key.signing)))

    @property
    def token_keys(self) -> list[str]:
        """The public halves with which each key's tokens and answers are recognised."""
        keys = self._keys[:TOKEN_KEYS]
        return [encoded(key.signing.public_key().public_bytes_raw()) for key in keys]

    def which_made(self, id: str, proves: Callable[[EnrolmentToken], bool]) -> EnrolmentKey | None:
        """The key whose token with this id satisfies `proves`, if any."""
        return next((key for key in self._keys if proves(key.token(id))), None)

    def which_signed(self, signature: str, data: bytes) -> EnrolmentKey | None:
        """The key that signed the data, if any."""
        for key in self._keys:
            if signed_by_one_of([key.signing.public_key()], signature, data):
                return key
        return None

    def open(self, sealed: str, about: bytes) -> tuple[EnrolmentKey, bytes]:
        """Open what a worker sealed to the control side; also returns the key it was sealed to.

        Raises:
            CannotUnseal: it is sealed to none of the keys.
        """
        for key in self._keys:
            try:
                return key, unseal(sealed, key.opening, about)
            except CannotUnseal:
                continue
        raise CannotUnseal("It is sealed to none of the control side's keys.")
