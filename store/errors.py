"""What can go wrong with a store.

StoreError
├── BadKey            the key has a form that no store takes
├── Conflict          somebody else changed the object first
├── Malformed         an object of ours does not hold what we write there
└── StoreUnavailable  the store cannot be read or written now; trying again may help
"""

from pathlib import Path


class StoreError(Exception):
    """Something about the store went wrong; the message says on which key."""


class BadKey(StoreError, ValueError):
    """A key that no store takes."""


class Conflict(StoreError):
    """The object is not the one that the caller had seen.

    Rarely, it is the caller's own put that a remote store did, whose answer was lost, and that
    somebody else has already built on: so a change must bear being made twice.
    """

    def __init__(self, key: str) -> None:
        super().__init__(f"{key} was changed by somebody else at the same time; read it again")
        self.key = key


class Malformed(StoreError):
    """An object does not hold what is written there; the message says what is wrong."""


class StoreUnavailable(StoreError):
    """The store cannot be read or written now; whether a put or delete was done is not known."""

    def __init__(self, message: str, full_disk: Path | None = None) -> None:
        super().__init__(message)
        self.full_disk = full_disk
        """The store's folder, where its disk is full."""
