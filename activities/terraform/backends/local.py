"""A store that is a folder: Terraform writes its state in place.

Its lock is one of the operating system, which goes with its process; the file that tells about the
holder may stay behind, and means nothing by itself.
"""

import fcntl
import os
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import Any

from activities.terraform.backends.interface import Backend
from activities.terraform.state_keys import state_key
from activities.terraform.state_lock import StateLock, parse_lock
from store.interface import Store
from store.left_files import open_left, read_left


class LocalBackend(Backend):
    """The state is a file of this machine."""

    kind = "local"

    @classmethod
    def serves(cls, store: Store) -> bool:
        """Whether the store is a folder."""
        return store.local_path("terraform") is not None

    @cached_property
    def file_in_place(self) -> Path:
        """The state."""
        path = self.store.local_path(state_key(self.part))
        if path is None:
            raise AssertionError("the store is a folder")
        return path

    @property
    def config(self) -> Mapping[str, Any]:
        """The path alone."""
        return {"path": str(self.file_in_place)}

    def write(self, folder: Path) -> None:
        """Write it, and make the folder that Terraform writes the state into."""
        self.file_in_place.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        super().write(folder)

    def where(self) -> str:
        """The path."""
        return str(self.file_in_place)

    def read_lock(self) -> StateLock | None:
        """Whoever holds the file, as it is told beside it."""
        path = self.file_in_place
        try:
            descriptor = open_left(path)
        except FileNotFoundError:
            return None
        try:
            fcntl.lockf(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
            return None
        except (BlockingIOError, PermissionError):
            told = path.with_name(f".{path.name}.lock.info")
            return parse_lock(read_left(told) if told.exists() else b"")
        finally:
            os.close(descriptor)

    def way_out(self, lock: StateLock, folder: Path) -> str:
        """The holder itself."""
        return "or end it: its lock goes with it."
