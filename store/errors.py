"""The errors of a store.

StoreError
├── BadKey            no store allows such a key
├── Conflict          somebody else changed the object first
├── Malformed         an object does not contain what Exclave writes there
└── StoreUnavailable  the store cannot be read or written now; a retry may help
"""

from pathlib import Path


class StoreError(Exception):
    """An operation of the store failed; the message names the key."""


class BadKey(StoreError, ValueError):
    """No store allows such a key."""


class Conflict(StoreError):
    """The object is not the one that the caller has seen.

    In rare cases the caller's own put has succeeded, but its answer was lost, and somebody else has
    changed the object since. So every change must be safe to make twice.
    """

    def __init__(self, key: str) -> None:
        super().__init__(f"{key} was changed by somebody else at the same time; read it again")
        self.key = key


class Malformed(StoreError):
    """An object does not contain what Exclave writes there; the message says what is wrong."""


class StoreUnavailable(StoreError):
    """The store cannot be read or written now; a put or delete may or may not have been done."""

    def __init__(self, message: str, full_disk: Path | None = None) -> None:
        super().__init__(message)
        self.full_disk = full_disk
        """The store's folder, if its disk is full."""
