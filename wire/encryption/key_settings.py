"""Where a process of the control side finds its keys; workers are handed theirs (`handed_keys`)."""

import os
from pathlib import Path
from typing import Final

from wire.encryption.key_ring import KeyRing, master_ring
from wire.encryption.keys import MasterKeys
from wire.encryption.subjects import BUILD, install_subject

MASTER_VARIABLE: Final = "EXCLAVE_KEYS"
"""Names the file of the master keys, for every process of the control side."""


def master_keys(file: Path | None = None) -> KeyRing | None:
    """The control side's keys; None where none are named, and payloads are plain.

    Args:
        file: What a flag names; without it, what the environment names.

    Raises:
        KeyFileError: the named file cannot be used.
    """
    named = file or _named(MASTER_VARIABLE)
    return master_ring(named) if named else None


def handed_keys(namespace: str, subject: str, file: Path | None = None) -> bytes:
    """What the worker of a subject is handed; a secret. Empty where payloads are plain.

    Args:
        namespace: The org.
        subject: `install/<install>` or `build`; others have no keys of their own to be handed.
        file: What a flag names; without it, what the environment names.

    Raises:
        KeyFileError: the named file cannot be used.
    """
    named = file or _named(MASTER_VARIABLE)
    kind, _, install = subject.partition("/")
    whose = BUILD if subject == BUILD else install_subject(install)
    if named is None or (kind != "install" and whose != BUILD):
        return b""
    # Read anew each time: a key that was added since is handed, too.
    return MasterKeys.read(named).for_subject(namespace, whose).handing()


def _named(variable: str) -> Path | None:
    value = os.environ.get(variable)
    return Path(value) if value else None
