"""Seals task tokens to the worker that received the task, so that no other can answer for it.

Temporal's own tokens carry no signature: whoever knows a task's ids can make one up. So the gateway
gives workers sealed tokens. Any gateway with the same secrets can open one, but only for a call of
the same identity.

The seal is AES-SIV, so every gateway seals the same token to the same bytes each time. That is
needed: Temporal's command to cancel an activity names the task by its token, and the worker
compares it with the token that came with the task, perhaps through another gateway. A seal with
random nonces would break that, and nonces could be misused.

The seal is bound to the identity's org, kind and name, but not to its key: a worker that enrols
again, or whose key is rotated, can still finish the work it received before.
"""

from collections.abc import Sequence
from typing import Literal

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESSIV
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from gateway.identity import Identity

SECRET_BYTES = 32
"""The least that a secret may have."""

_VERSION = b"\x01"
_ID_BYTES = 4
_HEAD_BYTES = len(_VERSION) + _ID_BYTES

Purpose = Literal["activity", "command"]
"""What the token belongs to: an activity's task, or a command to the worker itself."""


class NotTheirs(Exception):
    """No gateway that shares the secrets gave this token to this identity."""


class TaskTokens:
    """Seals and opens tokens with several secrets."""

    def __init__(self, secrets: Sequence[bytes]) -> None:
        """Derive the keys.

        Args:
            secrets: The first one seals, all of them open. To rotate, add the new secret at the end
                on every gateway, then move it to the front; remove the old one when no activity
                that began before can still be running.

        Raises:
            ValueError: there is no secret, or one is too short.
        """
        if not secrets:
            raise ValueError("there is no secret to seal task tokens with")
        if any(len(secret) < SECRET_BYTES for secret in secrets):
            raise ValueError(f"a secret has fewer than {SECRET_BYTES} bytes")
        # The ids of secrets are derived from them, so that their files need no ids.
        self._keys = {
            _derived(secret, b"id", _ID_BYTES): AESSIV(_derived(secret, b"key", 64))
            for secret in secrets
        }
        self._head, self._sealing = next(
            (_VERSION + key_id, key) for key_id, key in self._keys.items()
        )

    def seal(self, token: bytes, identity: Identity, purpose: Purpose) -> bytes:
        """The token as `identity` sees it."""
        return self._head + self._sealing.encrypt(token, _bound_to(identity, purpose))

    def open(self, sealed: bytes, identity: Identity, purpose: Purpose) -> bytes:
        """The token behind the sealed one that `identity` sends back.

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
    # As separate parts, which AES-SIV authenticates unambiguously.
    return [part.encode() for part in (purpose, identity.org, identity.kind, identity.name)]


def _derived(secret: bytes, purpose: bytes, length: int) -> bytes:
    info = b"exclave gateway task tokens, version 1: " + purpose
    return HKDF(SHA256(), length=length, salt=None, info=info).derive(secret)
