"""Seals task tokens to the worker that was given the task, so that no other can answer for it.

Temporal's own tokens carry no signature: whoever knows a task's ids can make one up. What leaves
the gateway is a sealed token, which any gateway with the same secrets opens again, and only for a
call of the same identity.

The seal is AES-SIV, and so the same token is sealed to the same bytes each time, by any gateway.
That is needed: Temporal's command to cancel an activity names the task by its token, and the worker
compares it with the one that it got with the task, perhaps through another gateway. A seal with
nonces would break that, and would have nonces to misuse.

The seal binds to the identity's org, kind and name, and not to its key: a worker that was enrolled
anew, or whose key was rotated, still finishes the work that it had been given.
"""

from collections.abc import Sequence
from typing import Literal

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESSIV
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from gateway.identity import Identity

SECRET_BYTES = 32
"""A secret has at least so many bytes."""

_VERSION = b"\x01"
_ID_BYTES = 4
_HEAD_BYTES = len(_VERSION) + _ID_BYTES

Purpose = Literal["activity", "command"]
"""What is answered with the token: an activity's task, or a command to the worker itself."""


class NotTheirs(Exception):
    """A token was not given to this identity by any gateway that shares our secrets."""


class TaskTokens:
    """Seals and opens tokens with a ring of secrets."""

    def __init__(self, secrets: Sequence[bytes]) -> None:
        """Derive the keys.

        Args:
            secrets: The first one seals, all of them open. To rotate: add the new secret to the end
                on every gateway, then move it to the front, and take the old one out when no
                activity can still run that began before.

        Raises:
            ValueError: there is no secret, or one is too short.
        """
        if not secrets:
            raise ValueError("there is no secret to seal task tokens with")
        if any(len(secret) < SECRET_BYTES for secret in secrets):
            raise ValueError(f"a secret has fewer than {SECRET_BYTES} bytes")
        # A secret is known by what follows from it, so that files need no ids of their own.
        self._keys = {
            _derived(secret, b"id", _ID_BYTES): AESSIV(_derived(secret, b"key", 64))
            for secret in secrets
        }
        self._head, self._sealing = next(
            (_VERSION + key_id, key) for key_id, key in self._keys.items()
        )

    def seal(self, token: bytes, identity: Identity, purpose: Purpose) -> bytes:
        """The token as `identity` gets to see it."""
        return self._head + self._sealing.encrypt(token, _bound_to(identity, purpose))

    def open(self, sealed: bytes, identity: Identity, purpose: Purpose) -> bytes:
        """The token behind what `identity` sends back.

        Raises:
            NotTheirs: it was sealed for another identity or purpose, with a secret that this
                gateway does not have, or not by a gateway at all.
        """
        key = self._keys.get(sealed[len(_VERSION) : _HEAD_BYTES])
        if key is None or not sealed.startswith(_VERSION):
            raise NotTheirs("it is none that this gateway knows")
        try:
            return key.decrypt(sealed[_HEAD_BYTES:], _bound_to(identity, purpose))
        except (InvalidTag, ValueError) as error:
            raise NotTheirs(f"it was not given to {identity.shown}") from error


def _bound_to(identity: Identity, purpose: Purpose) -> list[bytes]:
    # A list of its own for each part: AES-SIV keeps their borders apart.
    return [part.encode() for part in (purpose, identity.org, identity.kind, identity.name)]


def _derived(secret: bytes, purpose: bytes, length: int) -> bytes:
    info = b"exclave gateway task tokens, version 1: " + purpose
    return HKDF(SHA256(), length=length, salt=None, info=info).derive(secret)
