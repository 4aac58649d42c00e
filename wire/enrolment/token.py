"""The one-time token of a stack, and how a worker proves that it has it without revealing it.

A token is `<id>.<secret>`. The id names its worker and its expiry; the secret is an HMAC of the id
under the control side's enrolment key, so nobody has to store tokens. The worker sends the id, its
public keys, and an HMAC of both under the secret. Whoever intercepts that can neither enrol other
keys with it, nor use it a second time.

The id is also signed, so that a gateway, which knows only the control side's public key, can check
that a token is genuine before it passes an enrolment on. It cannot make tokens.
"""

import hmac
import json
import re
import secrets
from collections.abc import Iterable
from dataclasses import dataclass, replace
from hashlib import sha256

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

from contracts.access import PublicKeys
from wire.enrolment.sealing import decoded, encoded

_VERSION = 1
_PROOF = b"exclave enrolment proof v1"
_ANSWER = b"exclave enrolled v1"
_SIGNED = b"exclave enrolment token v1"
_SUBJECT = re.compile(r"install/[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?|build")
_NUMBER = re.compile(r"[A-Za-z0-9_-]{1,64}")
ID_LIMIT = 1000


class InvalidToken(ValueError):
    """This is not an enrolment token; the message never contains any part of it."""


@dataclass(frozen=True)
class TokenId:
    """The public part of a token: its worker, and its expiry."""

    org: str
    subject: str
    number: str
    """Random; identifies the token, which can enrol only one key."""
    expires: int
    """Seconds since 1970, by the control side's clock."""
    signature: str = ""
    """The control side's signature over all of the above; old tokens had none."""

    @staticmethod
    def fresh(org: str, subject: str, expires: int) -> "TokenId":
        """The id of a new token."""
        return TokenId(org, subject, encoded(secrets.token_bytes(16)), expires)

    def __str__(self) -> str:
        return encoded(self._json({"sig": self.signature} if self.signature else {}))

    def _json(self, more: dict[str, str]) -> bytes:
        values = {
            "exp": self.expires,
            "for": self.subject,
            "n": self.number,
            "org": self.org,
            "v": _VERSION,
            **more,
        }
        return json.dumps(values, separators=(",", ":")).encode()

    @property
    def _signed_bytes(self) -> bytes:
        return _SIGNED + b"\0" + self._json({})

    def signed(self, key: Ed25519PrivateKey) -> "TokenId":
        """The same id, signed."""
        return replace(self, signature=encoded(key.sign(self._signed_bytes)))

    def is_signed_by_one_of(self, keys: Iterable[Ed25519PublicKey]) -> bool:
        """Whether one of these keys signed it."""
        return signed_by_one_of(keys, self.signature, self._signed_bytes)

    @staticmethod
    def parse(text: str) -> "TokenId":
        """Read an id, which does not prove that it is genuine.

        Raises:
            InvalidToken: it is not an id, or has an unknown version.
        """
        try:
            if len(text) > ID_LIMIT:
                raise ValueError("it is too long")
            values = json.loads(decoded(text))
            if values["v"] != _VERSION:
                raise InvalidToken("The enrolment token has another version; render a new one.")
            found = TokenId(
                values["org"], values["for"], values["n"], values["exp"], values.get("sig", "")
            )
        except InvalidToken:
            raise
        except (ValueError, KeyError, TypeError, RecursionError) as error:
            raise InvalidToken("This is not an enrolment token.") from error
        strings = (found.org, found.subject, found.number, found.signature)
        if not all(isinstance(one, str) for one in strings) or type(found.expires) is not int:
            raise InvalidToken("This is not an enrolment token.")
        if not _SUBJECT.fullmatch(found.subject) or not _NUMBER.fullmatch(found.number):
            raise InvalidToken("This is not an enrolment token.")
        return found


@dataclass(frozen=True)
class EnrolmentToken:
    """A whole token, as the stack contains it."""

    id: str
    secret: bytes

    def __repr__(self) -> str:
        return f"EnrolmentToken({self.id})"

    @staticmethod
    def parse(text: str) -> "EnrolmentToken":
        """Read a token.

        Raises:
            InvalidToken: see its name.
        """
        named, dot, secret = text.strip().partition(".")
        try:
            raw = decoded(secret)
        except ValueError as error:
            raise InvalidToken("This is not an enrolment token; it may be cut off.") from error
        if not dot or len(raw) != sha256().digest_size:
            raise InvalidToken("This is not an enrolment token; it may be cut off.")
        TokenId.parse(named)
        return EnrolmentToken(named, raw)

    def render(self) -> str:
        """The token as text; a secret."""
        return f"{self.id}.{encoded(self.secret)}"

    def prove(self, keys: PublicKeys) -> str:
        """Prove that the holder of this token wants these keys enrolled."""
        return encoded(_proof(self.secret, self.id, keys))

    def proves(self, proof: str, keys: PublicKeys) -> bool:
        """Whether a proof was made with this token for these keys."""
        expected = self.prove(keys)
        return hmac.compare_digest(expected.encode(), proof.encode("utf-8", "replace"))


def _proof(secret: bytes, id: str, keys: PublicKeys) -> bytes:
    # None of the parts can contain the separator.
    message = b"\0".join((_PROOF, id.encode(), keys.signing.encode(), keys.sealing.encode()))
    return hmac.digest(secret, message, "sha256")


def signed_by_one_of(keys: Iterable[Ed25519PublicKey], signature: str, data: bytes) -> bool:
    """Whether one of the keys signed the data."""
    for key in keys:
        try:
            key.verify(decoded(signature), data)
        except (InvalidSignature, ValueError):
            continue
        return True
    return False


def answer_bytes(subject: str, keys: PublicKeys, sealed: str) -> bytes:
    """The bytes that the control side signs in its answer to an enrolment."""
    parts = (subject, keys.signing, keys.sealing, sealed)
    return b"\0".join((_ANSWER, *(part.encode() for part in parts)))


def sealed_about(what: str, subject: str) -> bytes:
    """The `about` of sealed bytes: what they are, and whose."""
    return f"{what} {subject}".encode()
