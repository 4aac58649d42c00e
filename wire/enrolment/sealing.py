"""Sealing: bytes that only the holder of one X25519 key can read, through whoever carries them.

A fresh key pair for each sealing, HKDF-SHA256 over what both sides get from it, and AES-256-GCM.
What is sealed is bound to what it is about, so that it cannot be put in another's place.
"""

import base64
import binascii

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

KEY_BYTES = 32
_INFO = b"exclave sealed v1\0"
_NONCE = bytes(12)
"""Each key encrypts once."""


class CannotUnseal(ValueError):
    """It was sealed to another key, about something else, or has been changed."""


def seal(data: bytes, to: bytes, about: bytes) -> str:
    """Seal bytes.

    Args:
        data: What.
        to: The raw X25519 public key of who may read it.
        about: What it belongs to; needed to unseal it.

    Raises:
        ValueError: `to` is no public key.
    """
    once = X25519PrivateKey.generate()
    public = once.public_key().public_bytes_raw()
    key = _key(once.exchange(X25519PublicKey.from_public_bytes(to)), public, to)
    return encoded(public + AESGCM(key).encrypt(_NONCE, data, about))


def unseal(sealed: str, key: X25519PrivateKey, about: bytes) -> bytes:
    """Read what was sealed to a key.

    Raises:
        CannotUnseal: it was sealed to another key or about something else, or is damaged.
    """
    try:
        raw = decoded(sealed)
        public, data = raw[:KEY_BYTES], raw[KEY_BYTES:]
        shared = key.exchange(X25519PublicKey.from_public_bytes(public))
        own = key.public_key().public_bytes_raw()
        return AESGCM(_key(shared, public, own)).decrypt(_NONCE, data, about)
    except (ValueError, InvalidTag) as error:
        raise CannotUnseal("It is sealed to another key, or damaged.") from error


def _key(shared: bytes, once: bytes, to: bytes) -> bytes:
    return HKDF(algorithm=SHA256(), length=32, salt=None, info=_INFO + once + to).derive(shared)


def encoded(data: bytes) -> str:
    """As base64url without padding."""
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def decoded(text: str) -> bytes:
    """From base64url without padding, in its one form.

    Raises:
        ValueError: it is none.
    """
    try:
        data = base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True)
    except (binascii.Error, ValueError) as error:
        raise ValueError("it is no base64url") from error
    if encoded(data) != text:
        raise ValueError("it is no base64url in its one form")
    return data
