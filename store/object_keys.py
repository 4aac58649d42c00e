"""The keys of a store's objects: segments joined by `/`."""

import re
from typing import Final

from store.errors import BadKey

_SEGMENT: Final = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]{0,199}")


def is_key(key: str) -> bool:
    """Whether stores allow the key."""
    return all(_SEGMENT.fullmatch(segment) for segment in key.split("/"))


def check_key(key: str) -> str:
    """Returns the key; raises BadKey if stores do not allow it."""
    for segment in key.split("/"):
        if not _SEGMENT.fullmatch(segment):
            raise BadKey(
                f"{key!r} is not a key: the segment {segment!r} must begin with a letter, a digit "
                "or `_`, and have at most 200 letters, digits, `.`, `_` and `-`"
            )
    return key


def check_prefix(prefix: str) -> str:
    """Returns the prefix of keys, which may end within a segment or with `/`; raises BadKey."""
    if prefix:
        check_key(prefix.removesuffix("/"))
    return prefix
