"""The control side's enrolment key: it makes tokens, and knows the secret of each without a list.

Gateways have no part of it. So a stolen gateway can neither make a token, nor enrol a key with one
that passes through it, nor answer a worker in the control side's name.
"""

import hmac
import secrets
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from contracts.access import TOKEN_KEYS
from wire.encryption.key_files import KeyFileError, read_private
from wire.enrolment.sealing import CannotUnseal, decoded, encoded, unseal
from wire.enrolment.token import EnrolmentToken, TokenId
from wire.private_files import write_new

_KEY_BYTES = 32


class EnrolmentKeyUnusable(Exception):
    """The enrolment key cannot be read; the message says why and what to do."""


@dataclass(frozen=True)
class EnrolmentKey:
    """One key of the control side, and what is derived from it."""

    secret: bytes

    def __repr__(self) -> str:
        return f"EnrolmentKey({self.public})"

    @staticmethod
    def read(path: Path) -> "EnrolmentKey":
        """The key in a file: 32 random bytes as base64url.

        Raises:
            EnrolmentKeyUnusable: it cannot be read, or is no key.
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
        """Write a new key into a file that is not there yet; only its owner can read it.

        Raises:
            FileExistsError: it is there.
        """
        key = EnrolmentKey(secrets.token_bytes(_KEY_BYTES))
        write_new(path, f"{encoded(key.secret)}\n".encode("ascii"))
        return key

    def token(self, id: str) -> EnrolmentToken:
        """The token of an id."""
        return EnrolmentToken(id, hmac.digest(self._derived(b"tokens"), id.encode(), "sha256"))

    @property
    def signing(self) -> Ed25519PrivateKey:
        """Signs the answers to workers."""
        return Ed25519PrivateKey.from_private_bytes(self._derived(b"answers"))

    @property
    def opening(self) -> X25519PrivateKey:
        """Opens what workers seal to the control side."""
        return X25519PrivateKey.from_private_bytes(self._derived(b"documents"))

    @property
    def public(self) -> str:
        """What stacks carry: by it a worker knows the control side's answer, and seals to it."""
        return encoded(
            self.signing.public_key().public_bytes_raw()
            + self.opening.public_key().public_bytes_raw()
        )

    def _derived(self, purpose: bytes) -> bytes:
        info = b"exclave enrolment v1 " + purpose
        return HKDF(algorithm=SHA256(), length=32, salt=None, info=info).derive(self.secret)


def _no_key(path: Path) -> str:
    return f"{path} is no enrolment key: 32 random bytes as base64url are."


class EnrolmentAuthority:
    """All keys of the control side: the first makes tokens, every one still checks its own."""

    def __init__(self, keys: Sequence[EnrolmentKey]) -> None:
        """Take the keys, the newest first; there has to be one."""
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
        """The public halves by which tokens and answers of each of the keys are known."""
        keys = self._keys[:TOKEN_KEYS]
        return [encoded(key.signing.public_key().public_bytes_raw()) for key in keys]

    def which_made(self, id: str, proves: Callable[[EnrolmentToken], bool]) -> EnrolmentKey | None:
        """The key whose token of this id proves it, if any."""
        return next((key for key in self._keys if proves(key.token(id))), None)

    def which_signed(self, signature: str, data: bytes) -> EnrolmentKey | None:
        """The key that has signed this, if any."""
        for key in self._keys:
            with suppress(InvalidSignature, ValueError):
                key.signing.public_key().verify(decoded(signature), data)
                return key
        return None

    def open(self, sealed: str, about: bytes) -> tuple[EnrolmentKey, bytes]:
        """Open what a worker sealed to the control side; and the key that it was sealed to.

        Raises:
            CannotUnseal: to none of them.
        """
        for key in self._keys:
            try:
                return key, unseal(sealed, key.opening, about)
            except CannotUnseal:
                continue
        raise CannotUnseal("It is sealed to none of the control side's keys.")
