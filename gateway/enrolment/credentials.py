"""Short-lived credentials: a JWT that the gateways sign, and that each of them checks by itself.

Several gateways share the key files and nothing else. The first key signs, every one is accepted:
a new key is put behind the old one everywhere, then in front of it, then the old one is removed.
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
from wire.encryption.key_files import KeyFileError, make_private, read_private
from wire.enrolment.worker_identity import thumbprint

AUDIENCE = "exclave-gateway"
LIFETIME = timedelta(minutes=15)

_ALGORITHM = "EdDSA"
_LEEWAY_SECONDS = 60
"""Gateways' clocks differ by this at most; a credential ends that much later at another one."""
_LONGEST = 4096
_REMEMBERED = 20_000
_CLAIMS = ("exp", "iat", "aud", "org", "kind", "name", "key")


class CredentialKeyUnusable(Exception):
    """A key file cannot be used; the message says why and what to do."""


@dataclass(frozen=True)
class CredentialKey:
    """A key that signs credentials."""

    private: Ed25519PrivateKey

    def __repr__(self) -> str:
        return f"CredentialKey({self.id})"

    @property
    def id(self) -> str:
        """What credentials call it."""
        return thumbprint(self.private.public_key().public_bytes_raw())

    @staticmethod
    def read(path: Path) -> "CredentialKey":
        """The Ed25519 private key in a PEM file.

        Raises:
            CredentialKeyUnusable: it cannot be read, or is none.
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
        """Write a new key into a file that is not there yet; only its owner can read it.

        Raises:
            FileExistsError: it is there.
        """
        key = CredentialKey(Ed25519PrivateKey.generate())
        pem = key.private.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
        make_private(path, pem.decode())
        return key


def _no_key(path: Path) -> str:
    return (
        f"{path} is no Ed25519 private key in PEM; make one: openssl genpkey -algorithm ed25519 "
        f"-out {path}"
    )


@dataclass(frozen=True)
class Issued:
    """A new credential."""

    token: str
    expires: float
    """Seconds since 1970, by this gateway's clock."""
    seconds: int
    """How long it is good for."""

    def __repr__(self) -> str:
        return f"Issued(expires={self.expires})"


class GatewayCredentials:
    """Makes credentials, and is the `Authenticator` that knows them again."""

    def __init__(
        self,
        keys: Sequence[CredentialKey],
        *,
        lifetime: timedelta = LIFETIME,
        clock: Callable[[], float] = time.time,
    ) -> None:
        """Take the keys, the one that signs first; there has to be one."""
        if not keys:
            raise CredentialKeyUnusable("There is no credential key; name at least one.")
        self._signing = keys[0]
        self._public = {key.id: key.private.public_key() for key in keys}
        self._lifetime = lifetime
        self._clock = clock
        self._known: OrderedDict[str, Identity] = OrderedDict()

    def issue(self, kind: str, org: str, name: str, key: str) -> Issued:
        """Make a credential for a worker whose key was proven just now."""
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
        """As `Authenticator` says."""
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
                # The times are judged below, by the clock that is given and on every call.
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
