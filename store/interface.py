"""What every store can do: get, put if it matches, list, delete.

Keys are segments joined by `/`; what is a key is not the folder of another one. All methods block;
coroutines call them through `asyncio.to_thread`. Everything that several workers change at once is
one object, changed by put-if-match, so that a store needs no locks and no transactions.

    StoreError
    ├── BadKey            the key has a form that no store takes
    ├── Conflict          somebody else changed the object first
    ├── Malformed         an object of ours does not hold what we write there
    └── StoreUnavailable  the store cannot be read or written now; trying again may help
"""

import enum
import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal, Protocol

if TYPE_CHECKING:
    from store.s3_place import S3Place

_SEGMENT: Final = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]{0,199}")


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


class Match(enum.Enum):
    """What a put or delete asks for, where it is not a certain etag."""

    ANY = "any"
    ABSENT = "absent"


ANY: Final = Match.ANY
"""Whatever is there."""

ABSENT: Final = Match.ABSENT
"""The key must not exist yet."""

IfMatch = str | Literal[Match.ANY, Match.ABSENT]
"""An etag, `ANY`, or `ABSENT`."""

Etag = str | Literal[Match.ANY]
"""An etag, or `ANY`."""


@dataclass(frozen=True)
class Object:
    """What lies under a key."""

    data: bytes
    etag: str


class Store(Protocol):
    """An install's store. All methods raise StoreUnavailable and BadKey."""

    def get(self, key: str) -> Object | None:
        """The object under the key, or None."""

    def put(self, key: str, data: bytes, *, if_match: IfMatch) -> str:
        """Writes the object as a whole and returns its etag; raises Conflict."""

    def list(self, prefix: str) -> list[str]:
        """The keys that begin with the prefix, sorted."""

    def delete(self, key: str, *, if_match: Etag = ANY) -> None:
        """Removes the object, if there is one; raises Conflict if it is another one."""

    def local_path(self, key: str) -> Path | None:
        """The file of the key, where the store is a folder of this machine; else None."""

    def s3_place(self) -> "S3Place | None":
        """Where the store lies in S3; None where it does not."""


def is_key(key: str) -> bool:
    """Whether a store could take the key."""
    return all(_SEGMENT.fullmatch(segment) for segment in key.split("/"))


def check_key(key: str) -> str:
    """Returns the key; raises BadKey if a store could not take it."""
    for segment in key.split("/"):
        if not _SEGMENT.fullmatch(segment):
            raise BadKey(
                f"{key!r} is no key: the segment {segment!r} must begin with a letter, a digit or "
                "`_`, and hold at most 200 letters, digits, `.`, `_` and `-`"
            )
    return key


def check_prefix(prefix: str) -> str:
    """Returns the prefix of keys, which may end within a segment or after one; raises BadKey."""
    if prefix:
        check_key(prefix.removesuffix("/"))
    return prefix
