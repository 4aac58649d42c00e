"""The world in which goldens are recorded: one moment, one machine, and chance that is none.

Whatever looks secret in a golden comes from here, and is none.
"""

import hashlib
import os
import pwd
import secrets
import time
import uuid
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime
from types import SimpleNamespace
from unittest.mock import patch

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey

from store.machine import Machine

MOMENT = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
AT = MOMENT.timestamp()
WHO = "worker@machine-1.example.com"
MACHINE = Machine("machine-1", "boot-1")
OTHER_MACHINE = Machine("machine-2", "boot-2")

INSTALL, ORG, APP = "acme", "dev", "shop"
RELEASE = "sha256:" + "1" * 64
OLDER_RELEASE = "sha256:" + "2" * 64
ARTIFACT = "sha256:" + "a" * 64
LICENSE = "fake-license-0000"
"""The value of a sensitive input."""


def fake(count: int = 32) -> bytes:
    """Bytes that say themselves that they are no secret."""
    return (b"fake-secret-for-tests-only-" * (count // 27 + 1))[:count]


def signing_key() -> Ed25519PrivateKey:
    return Ed25519PrivateKey.from_private_bytes(fake())


def sealing_key() -> X25519PrivateKey:
    return X25519PrivateKey.from_private_bytes(hashlib.sha256(fake()).digest())


@contextmanager
def fixed() -> Iterator[None]:
    """Whatever is written in the block comes out the same each time, on every machine."""
    with ExitStack() as stack:

        def put(owner: object, name: str, value: object) -> None:
            stack.enter_context(patch.object(owner, name, value))

        put(time, "time", lambda: AT)
        put(os, "urandom", fake)
        put(secrets, "token_bytes", lambda count=32: fake(count))
        put(secrets, "token_hex", lambda count=32: fake(count).hex())
        put(uuid, "uuid4", lambda: uuid.UUID(bytes=fake(16), version=4))
        put(pwd, "getpwuid", lambda uid: SimpleNamespace(pw_name=WHO.partition("@")[0]))
        put(os, "uname", lambda: SimpleNamespace(nodename=WHO.partition("@")[2]))
        put(Ed25519PrivateKey, "generate", signing_key)
        put(X25519PrivateKey, "generate", sealing_key)
        yield
