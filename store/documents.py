"""Objects of the store that contain a JSON document, changed by put-if-match."""

import json
import random
import time
from collections.abc import Callable, Iterator
from typing import Any, Final

from store.errors import Conflict, Malformed
from store.interface import ABSENT, Store
from wire.backoff import backoff

Document = dict[str, Any]

_TRIES: Final = 60
"""Whoever loses this often has another problem than concurrent writers. With all pauses, it takes
half a minute."""

_FIRST_PAUSE_SECONDS: Final = 0.01
_LONGEST_PAUSE_SECONDS: Final = 1.0


def read_document(store: Store, key: str) -> tuple[Document, str] | None:
    """The document under the key and its etag, or None; raises Malformed and StoreError."""
    found = store.get(key)
    if found is None:
        return None
    try:
        document = json.loads(found.data)
    except ValueError as error:
        raise Malformed(f"{key} is not JSON ({error}); restore it from a backup") from error
    if not isinstance(document, dict):
        raise Malformed(f"{key} contains {type(document).__name__}, not an object")
    return document, found.etag


def change_document(
    store: Store, key: str, change: Callable[[Document | None], Document | None]
) -> None:
    """Applies `change` to the document under the key, and again whenever somebody else was faster.

    `change` gets the document, or None if there is none, and returns what to write, or None to
    leave it unchanged. Exceptions of `change` are passed on. Raises Conflict after many attempts.
    """
    for _ in tries():
        found = read_document(store, key)
        changed = change(found[0] if found else None)
        if changed is None:
            return
        try:
            store.put(key, _encode(changed), if_match=found[1] if found else ABSENT)
        except Conflict:
            continue
        return
    raise Conflict(key)


def tries() -> Iterator[None]:
    """Yields for each attempt to change an object that others change, too, and pauses in between.

    The pauses are random, so that colliding writers do not collide again, and grow, so that many
    writers slow down until the store keeps up with them.
    """
    pauses = backoff(_FIRST_PAUSE_SECONDS, _LONGEST_PAUSE_SECONDS)
    for left in reversed(range(_TRIES)):
        yield
        if left:
            time.sleep(random.uniform(0, next(pauses)))  # noqa: S311 - not for security


def _encode(document: Document) -> bytes:
    return json.dumps(document, indent=1, sort_keys=True).encode()
