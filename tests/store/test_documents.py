"""Documents that several writers change at the same time."""

import time
from pathlib import Path

import pytest

from store.documents import Document, change_document
from store.errors import Conflict, Malformed
from store.folder import FolderStore
from store.interface import ANY, Store


class Pauses(list[float]):
    """Records the pauses instead of waiting."""


@pytest.fixture
def pauses(monkeypatch: pytest.MonkeyPatch) -> Pauses:
    waited = Pauses()
    monkeypatch.setattr(time, "sleep", waited.append)
    return waited


def test_who_always_loses_gives_up_within_bounds(tmp_path: Path, pauses: Pauses) -> None:
    store = FolderStore(tmp_path)
    written = 0

    def overtaken(document: Document | None) -> Document:
        nonlocal written
        written += 1
        store.put("a", b'{"n": %d}' % written, if_match=ANY)
        return {"mine": True}

    with pytest.raises(Conflict):
        change_document(store, "a", overtaken)
    assert written == len(pauses) + 1 > 10
    assert max(pauses) <= 1
    assert sum(pauses) <= 60
    assert max(pauses[:3]) < 0.1


def test_who_loses_once_makes_the_change_to_what_the_other_left(
    tmp_path: Path, pauses: Pauses
) -> None:
    store = FolderStore(tmp_path)
    seen: list[Document | None] = []

    def change(document: Document | None) -> Document:
        if not seen:
            store.put("a", b'{"n": 1}', if_match=ANY)
        seen.append(document)
        return {"n": 2}

    change_document(store, "a", change)
    assert seen == [None, {"n": 1}]
    assert len(pauses) == 1


@pytest.mark.parametrize("data", [b"nonsense", b"[]", b""])
def test_what_is_no_document_is_reported(store: Store, data: bytes) -> None:
    store.put("a", data, if_match=ANY)
    with pytest.raises(Malformed, match="a "):
        change_document(store, "a", lambda now: now)
