"""Sealing: encrypts bytes so that only the holder of one X25519 key can read them.

Uses a fresh key pair for each sealing, HKDF-SHA256 over the shared secret, and AES-256-GCM. Sealed
bytes are bound to what they are about, so that they cannot take the place of others.
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
"""Constant, since each key encrypts only once."""


class CannotUnseal(ValueError):
    """The bytes were sealed to another key, are about something else, or have been changed."""


def seal(data: bytes, to: bytes, about: bytes) -> str:
    """Seal bytes.

    Args:
        data: The bytes to seal.
        to: The raw X25519 public key of the reader.
        about: What the bytes are about; needed to unseal them.

    Raises:
        ValueError: `to` is not a public key.
    """
    once = X25519PrivateKey.generate()
    public = once.public_key().public_bytes_raw()
    key = _key(once.exchange(X25519PublicKey.from_public_bytes(to)), public, to)
    return encoded(public + AESGCM(key).encrypt(_NONCE, data, about))


def unseal(sealed: str, key: X25519PrivateKey, about: bytes) -> bytes:
    """Read what was sealed to a key.

    Raises:
        CannotUnseal: see its name.
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
    """From base64url without padding, in its canonical form.

    Raises:
        ValueError: the text is not in that form.
    """
    try:
        data = base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True)
    except (binascii.Error, ValueError) as error:
        raise ValueError("it is not base64url") from error
    if encoded(data) != text:
        raise ValueError("it is not base64url in its canonical form")
    return data
