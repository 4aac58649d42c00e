"""Terraform's lock on a part's state, as it is found in the store.

In a bucket it is an object beside the state (`use_lockfile`), which stays when its holder is
killed. On a folder it is a lock of the operating system, which goes with its process; the file that
tells about the holder may stay behind, and means nothing by itself.
"""

import fcntl
import json
import os
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from activities.terraform.state_file import state_key
from store.interface import Store
from store.left_files import open_left, read_left


def lock_key(part: str) -> str:
    """Where the lock on a part's state lies in a bucket."""
    return f"{state_key(part)}.tflock"


@dataclass(frozen=True)
class StateLock:
    """What is written of a lock."""

    id: str
    who: str
    """`user@host`, as Terraform calls its holder."""
    operation: str
    created: float
    """Epoch seconds; 0 where it is not told."""
    info: str = ""
    etag: str = ""
    """Of the object; empty for the lock of a file."""

    def __str__(self) -> str:
        if not self.created:
            return self.who
        since = datetime.fromtimestamp(self.created, UTC)
        return f"{self.who} since {since:%Y-%m-%d %H:%M:%S} UTC ({self.operation}, {self.id})"

    @property
    def user(self) -> str:
        """The holder's user, by its own word; may be empty."""
        return self.who.rpartition("@")[0]

    @property
    def host(self) -> str:
        """The holder's machine, by its own word."""
        return self.who.rpartition("@")[2]


def read_lock(store: Store, part: str) -> StateLock | None:
    """The lock on a part's state; None if nobody holds it. Blocks."""
    path = store.local_path(state_key(part))
    if path is not None:
        return _lock_of_file(path)
    found = store.get(lock_key(part))
    return _parsed(found.data, found.etag) if found else None


def _lock_of_file(path: Path) -> StateLock | None:
    try:
        descriptor = open_left(path)
    except FileNotFoundError:
        return None
    try:
        fcntl.lockf(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
        return None
    except (BlockingIOError, PermissionError):
        told = path.with_name(f".{path.name}.lock.info")
        return _parsed(read_left(told) if told.exists() else b"")
    finally:
        os.close(descriptor)


def _parsed(content: bytes, etag: str = "") -> StateLock:
    try:
        found = json.loads(content)
        return StateLock(
            id=str(found["ID"]),
            who=str(found["Who"]),
            operation=str(found["Operation"]).removeprefix("OperationType"),
            created=_epoch(str(found["Created"])),
            info=str(found.get("Info", "")),
            etag=etag,
        )
    except (ValueError, KeyError, TypeError):
        # Not as Terraform writes it: nothing of it is proven, so it is waited for.
        return StateLock("", "somebody whom it does not name", "unknown", 0.0, "", etag)


def _epoch(told: str) -> float:
    """Of UTC with up to nine digits of a second; Python takes six."""
    whole, _, fraction = told.removesuffix("Z").partition(".")
    seconds = datetime.fromisoformat(whole).replace(tzinfo=UTC).timestamp()
    return seconds + float(f"0.{fraction}") if fraction else seconds
