"""Keeps the secrets that were known when an operation's tools ran, for as long as their output.

When a sensitive input is set again, a password is recreated or a component is torn down, the store
no longer has the old value, but the output of tools that ran before may still contain it.
"""

import json
from collections.abc import Set
from pathlib import Path
from typing import Final

from store.files import replace_private
from store.left_files import read_left
from wire.private_files import make_private_folder

_FILE: Final = "secrets.json"


def keep_secrets(folder: Path, secrets: Set[str]) -> None:
    """Add secrets to those that are kept for an operation; blocks.

    Args:
        folder: The operation's folder, which no other attempt uses now.
        secrets: The values; without the worker's own secrets, which are never written to a file.

    Raises:
        OSError: it cannot be written.
    """
    before = kept_secrets(folder)
    if secrets <= before:
        return
    make_private_folder(folder)
    content = json.dumps(sorted(before | secrets)).encode()
    replace_private(folder / _FILE, content, folder / f"{_FILE}.new")


def kept_secrets(folder: Path) -> frozenset[str]:
    """The secrets that are kept in an operation's folder; blocks."""
    file = folder / _FILE
    return frozenset(json.loads(read_left(file))) if file.exists() else frozenset()
