"""The dependency lock file: which providers a plan was made with."""

from pathlib import Path

from activities.plans.plan_store import load_file, sha256
from store.interface import Store
from store.left_files import read_left

SAVED_AS = "terraform.lock.hcl"
"""Its name in the store, with the plan's other files."""


def load_lock_file(store: Store, key: str) -> bytes:
    """The lock file that the plan was made with; empty if there was none."""
    return load_file(store, key, SAVED_AS) or b""


def providers_identity(lock: Path) -> str:
    """A digest of the providers and their hashes; empty if the module needs no provider."""
    content = read_lock_file(lock)
    return sha256(content) if content else ""


def read_lock_file(lock: Path) -> bytes:
    """The content of a dependency lock file; empty if there is none. Blocks.

    Raises:
        NoFileLeft: it is not a regular file.
    """
    try:
        return read_left(lock)
    except FileNotFoundError:
        return b""
