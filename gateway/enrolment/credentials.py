"""Short-lived credentials: JWTs that any gateway can sign, and each of them checks by itself.

Gateways share only the key files. The first key signs, and all of them are accepted. To rotate, add
the new key after the old one on every gateway, then move it to the front, then remove the old one.
"""

import time
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import jwt
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    load_pem_private_key,
)

from gateway.identity import Expired, Identity, Unauthenticated
from wire.encryption.key_files import KeyFileError, read_private
from wire.enrolment.worker_identity import thumbprint
from wire.private_files import write_new

AUDIENCE = "exclave-gateway"
LIFETIME = timedelta(minutes=15)

_ALGORITHM = "EdDSA"
_LEEWAY_SECONDS = 60
"""How much the clocks of gateways may differ; a credential is accepted that much longer."""
_LONGEST = 4096
_REMEMBERED = 20_000
_CLAIMS = ("exp", "iat", "aud", "org", "kind", "name", "key")


class CredentialKeyUnusable(Exception):
    """A key file is unusable; the message says why and what to do."""


@dataclass(frozen=True)
class CredentialKey:
    """A key that signs credentials."""

    private: Ed25519PrivateKey

    def __repr__(self) -> str:
        return f"CredentialKey({self.id})"

    @property
    def id(self) -> str:
        """The key's id in credentials."""
        return thumbprint(self.private.public_key().public_bytes_raw())

    @staticmethod
    def read(path: Path) -> "CredentialKey":
        """The Ed25519 private key in a PEM file.

        Raises:
            CredentialKeyUnusable: the file cannot be read, or contains no such key.
        """
        try:
            key = load_pem_private_key(read_private(path).encode(), password=None)
        except KeyFileError as error:
            raise CredentialKeyUnusable(f"The credential key cannot be used: {error}") from error
        except (ValueError, TypeError) as error:
            raise CredentialKeyUnusable(_no_key(path)) from error
        if not isinstance(key, Ed25519PrivateKey):
            raise CredentialKeyUnusable(_no_key(path))
        return CredentialKey(key)

    @staticmethod
    def make(path: Path) -> "CredentialKey":
        """Write a new key into a new file, which only its owner can read.

        Raises:
            FileExistsError: the file exists.
        """
        key = CredentialKey(Ed25519PrivateKey.generate())
        pem = key.private.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
        write_new(path, pem)
        return key


def _no_key(path: Path) -> str:
    return (
        f"{path} is not an Ed25519 private key in PEM; make one: openssl genpkey -algorithm "
        f"ed25519 -out {path}"
    )


@dataclass(frozen=True)
class Issued:
    """A new credential."""

    token: str
    expires: float
    """Seconds since 1970, by this gateway's clock."""
    seconds: int
    """How long it is valid."""

    def __repr__(self) -> str:
        return f"Issued(expires={self.expires})"


class GatewayCredentials:
    """Issues credentials, and implements the `Authenticator` that verifies them."""

    def __init__(
        self,
        keys: Sequence[CredentialKey],
        *,
        lifetime: timedelta = LIFETIME,
        clock: Callable[[], float] = time.time,
    ) -> None:
        """Use these keys, at least one; the first one signs."""
        if not keys:
            raise CredentialKeyUnusable("There is no credential key; name at least one.")
        self._signing = keys[0]
        self._public = {key.id: key.private.public_key() for key in keys}
        self._lifetime = lifetime
        self._clock = clock
        self._known: OrderedDict[str, Identity] = OrderedDict()

    def issue(self, kind: str, org: str, name: str, key: str) -> Issued:
        """Issue a credential to a worker that has just proven its key."""
        now = int(self._clock())
        seconds = int(self._lifetime.total_seconds())
        claims = {
            "aud": AUDIENCE,
            "iat": now,
            "exp": now + seconds,
            "org": org,
            "kind": kind,
            "name": name,
            "key": key,
        }
        token = jwt.encode(
            claims, self._signing.private, _ALGORITHM, headers={"kid": self._signing.id}
        )
        return Issued(token, now + seconds, seconds)

    def authenticate(self, authorization: str | None) -> Identity:
        """As in `Authenticator`."""
        scheme, _, token = (authorization or "").partition(" ")
        if scheme.lower() != "bearer" or not token:
            raise Unauthenticated(
                "This call carries no credential. A worker gets one by enrolling at this gateway."
            )
        found = self._known.get(token)
        if found is None:
            found = self._verified(token)
            self._known[token] = found
            if len(self._known) > _REMEMBERED:
                self._known.popitem(last=False)
        self._refuse_expired(found, token)
        return found

    def _verified(self, token: str) -> Identity:
        if len(token) > _LONGEST:
            raise Unauthenticated("This credential is none of this gateway's.")
        try:
            public = self._public[jwt.get_unverified_header(token)["kid"]]
            claims: dict[str, Any] = jwt.decode(
                token,
                public,
                algorithms=[_ALGORITHM],
                audience=AUDIENCE,
                # Times are checked elsewhere: on every call, also of a remembered credential.
                options={"require": list(_CLAIMS), "verify_exp": False, "verify_iat": False},
            )
            return Identity(
                kind=claims["kind"],
                org=claims["org"],
                name=claims["name"],
                key=claims["key"],
                expires=float(claims["exp"]),
            )
        except (jwt.InvalidTokenError, KeyError, TypeError, ValueError) as error:
            raise Unauthenticated(
                "This credential is none of this gateway's; it is forged, damaged, or signed by a "
                "key that was taken away. The worker has to renew it."
            ) from error

    def _refuse_expired(self, identity: Identity, token: str) -> None:
        now = self._clock()
        if identity.expires + _LEEWAY_SECONDS > now:
            return
        self._known.pop(token, None)
        raise Expired(
            f"The credential of {identity.shown} ended at {_at(identity.expires)}; by this "
            f"gateway's clock it is {_at(now)}. The worker renews it by itself; if it does not, "
            "its log says why.",
            identity,
        )


def _at(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="seconds")
