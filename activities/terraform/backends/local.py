"""The backend for a store in a folder: Terraform overwrites its state in place.

The lock is one of the operating system, which ends with its process. The file with the holder's
name may stay behind, and proves nothing by itself.
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
    """The state is a file on this machine."""

    kind = "local"

    @classmethod
    def serves(cls, store: Store) -> bool:
        """Whether the store is a folder."""
        return store.local_path("terraform") is not None

    @cached_property
    def file_in_place(self) -> Path:
        """The state's file."""
        path = self.store.local_path(state_key(self.part))
        if path is None:
            raise AssertionError("the store is a folder")
        return path

    @property
    def config(self) -> Mapping[str, Any]:
        """Only the path."""
        return {"path": str(self.file_in_place)}

    def write(self, folder: Path) -> None:
        """Write the configuration, and create the folder that Terraform writes the state into."""
        self.file_in_place.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        super().write(folder)

    def where(self) -> str:
        """The state's path."""
        return str(self.file_in_place)

    def read_lock(self) -> StateLock | None:
        """The lock on the file, with what the file beside it says about the holder."""
        path = self.file_in_place
        try:
            descriptor = open_left(path)
        except FileNotFoundError:
            return None
        try:
            fcntl.lockf(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
            return None
        except (BlockingIOError, PermissionError):
            info = path.with_name(f".{path.name}.lock.info")
            return parse_lock(read_left(info) if info.exists() else b"")
        finally:
            os.close(descriptor)

    def way_out(self, lock: StateLock, folder: Path) -> str:
        """Ending the holder."""
        return "or end it, which also releases its lock."
