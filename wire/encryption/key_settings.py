"""Where control-side processes find their keys, and the keys that workers get from them."""

import os
from pathlib import Path
from typing import Final

from wire.encryption.key_ring import KeyRing, master_ring
from wire.encryption.keys import MasterKeys
from wire.encryption.subjects import BUILD, install_subject

MASTER_VARIABLE: Final = "EXCLAVE_KEYS"
"""Names the file of the master keys, for every control-side process."""


def master_keys(file: Path | None = None) -> KeyRing | None:
    """The control side's keys; None if no file is named, so that payloads are plain.

    Args:
        file: The file that a flag names; by default, the one that the environment names.

    Raises:
        KeyFileError: the file is unusable.
    """
    named = file or _named(MASTER_VARIABLE)
    return master_ring(named) if named else None


def keys_for_worker(namespace: str, subject: str, file: Path | None = None) -> bytes:
    """The keys that a subject's worker gets; a secret. Empty if payloads are plain.

    Args:
        namespace: The org.
        subject: `install/<install>` or `build`; others get no keys.
        file: The file that a flag names; by default, the one that the environment names.

    Raises:
        KeyFileError: the file is unusable.
    """
    named = file or _named(MASTER_VARIABLE)
    kind, _, install = subject.partition("/")
    owner = BUILD if subject == BUILD else install_subject(install)
    if named is None or (kind != "install" and owner != BUILD):
        return b""
    # Read again each time, to include keys that were added since.
    return MasterKeys.read(named).for_subject(namespace, owner).to_bytes()


def _named(variable: str) -> Path | None:
    value = os.environ.get(variable)
    return Path(value) if value else None
