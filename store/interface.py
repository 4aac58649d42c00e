"""The interface of stores: get, put-if-match, list, delete.

Keys are segments joined by `/`; a key is never the folder of another one. All methods block, so
coroutines call them through `asyncio.to_thread`. Whatever several workers change concurrently is
one object, changed by put-if-match, so stores need no locks and no transactions.
"""

import enum
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal, Protocol

from store.s3_place import S3Place


class Match(enum.Enum):
    """The condition of a put or delete, if it is not an etag."""

    ANY = "any"
    ABSENT = "absent"


ANY: Final = Match.ANY
"""No condition."""

ABSENT: Final = Match.ABSENT
"""The key must not exist yet."""

IfMatch = str | Literal[Match.ANY, Match.ABSENT]
"""An etag, `ANY`, or `ABSENT`."""

Etag = str | Literal[Match.ANY]
"""An etag, or `ANY`."""


@dataclass(frozen=True)
class Object:
    """The object under a key."""

    data: bytes
    etag: str


class Store(Protocol):
    """An install's store. All methods raise StoreUnavailable and BadKey."""

    @property
    def is_far(self) -> bool:
        """Whether each call is a request over the network."""

    def get(self, key: str) -> Object | None:
        """The object under the key, or None."""

    def put(self, key: str, data: bytes, *, if_match: IfMatch) -> str:
        """Writes the object as a whole and returns its etag; raises Conflict."""

    def list(self, prefix: str) -> list[str]:
        """The keys that begin with the prefix, sorted."""

    def delete(self, key: str, *, if_match: Etag = ANY) -> None:
        """Removes the object, if there is one; raises Conflict if it is not the expected one."""

    def local_path(self, key: str) -> Path | None:
        """The file of the key, if the store is a folder of this machine; else None."""

    def s3_place(self) -> S3Place | None:
        """The place of the store in S3; None if it is elsewhere."""
