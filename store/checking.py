"""Checks that a store is usable before anything is entrusted to it."""

import contextlib
import secrets
from typing import Final

from store.errors import Conflict, StoreUnavailable
from store.interface import ABSENT, Etag, IfMatch, Store

_PREFIX: Final = "_check/"


def check_store(store: Store) -> None:
    """Tries the operations that will be needed later, and leaves nothing behind.

    Some S3-compatible stores silently ignore conditions. Such a store would let two machines work
    on one component.

    Raises:
        StoreUnavailable: it cannot be read, written or listed, or ignores conditions.
    """
    key = f"{_PREFIX}{secrets.token_hex(8)}"
    # Deleting comes first: if that is impossible, nothing is written.
    store.delete(key)
    try:
        problem = _problem(store, key)
    finally:
        with contextlib.suppress(StoreUnavailable):
            store.delete(key)
    if problem:
        raise StoreUnavailable(f"the store {store} cannot be used: {problem}")


def _problem(store: Store, key: str) -> str | None:
    try:
        first = store.put(key, b"1", if_match=ABSENT)
        if _puts(store, key, ABSENT):
            return _ignores("writes an object only if there is none (If-None-Match)")
        second = store.put(key, b"2", if_match=first)
        if _puts(store, key, first):
            return _ignores("writes an object only if it is unchanged (If-Match)")
        if _deletes(store, key, first):
            return _ignores("deletes an object only if it is unchanged (If-Match)")
        found = store.get(key)
        if found is None or found.data != b"2" or store.list(key) != [key]:
            return "it does not return what was written to it"
        store.delete(key, if_match=second)
    except Conflict:
        return "it refuses a change whose condition is met"
    return None


def _puts(store: Store, key: str, if_match: IfMatch) -> bool:
    try:
        store.put(key, b"in spite of the condition", if_match=if_match)
    except Conflict:
        return False
    return True


def _deletes(store: Store, key: str, if_match: Etag) -> bool:
    try:
        store.delete(key, if_match=if_match)
    except Conflict:
        return False
    return True


def _ignores(what: str) -> str:
    return (
        f"two workers could overwrite each other's state, since it ignores conditions; use a "
        f"store that {what}"
    )
