"""Objects of the store that hold one JSON document, changed by put-if-match."""

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
"""A writer that lost this often has another trouble than company. With all pauses it is half a
minute."""

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
        raise Malformed(f"{key} holds {type(document).__name__}, not an object")
    return document, found.etag


def change_document(
    store: Store, key: str, change: Callable[[Document | None], Document | None]
) -> None:
    """Applies `change` to the document under the key, again whenever somebody else was faster.

    `change` gets the document, or None where there is none, and returns what to write, or None to
    leave it as it is. What `change` raises ends it. Raises Conflict in the end.
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
    """Once for each try to change an object that others change as well, with pauses between.

    Their length is random and grows, so that writers who met do not meet again, and the many
    become slower until the store keeps up with them.
    """
    pauses = backoff(_FIRST_PAUSE_SECONDS, _LONGEST_PAUSE_SECONDS)
    for left in reversed(range(_TRIES)):
        yield
        if left:
            time.sleep(random.uniform(0, next(pauses)))  # noqa: S311 - nothing is guarded by it


def _encode(document: Document) -> bytes:
    return json.dumps(document, indent=1, sort_keys=True).encode()
