"""What was secret when an operation's tools ran, kept beside what they printed and as long as that.

A sensitive input that is set again, a password that is made anew and a component that is torn down
leave the store without the old value; what a tool printed then still holds it.
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
    """Add to what is kept; blocks.

    Args:
        folder: The operation's own, which nobody else works on now.
        secrets: Values; none of the worker's own, which are in no file of ours.

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
    """What is kept in an operation's folder; blocks."""
    file = folder / _FILE
    return frozenset(json.loads(read_left(file))) if file.exists() else frozenset()
