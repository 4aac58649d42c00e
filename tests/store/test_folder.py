"""The folder store: compare-and-put, modes, keys; also under several writing processes."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from store.folder import FolderStore
from store.interface import ABSENT, ANY, BadKey, Conflict, StoreUnavailable

ROOT = Path(__file__).resolve().parents[2]

ADDER = """
import sys
from pathlib import Path
from store.folder import FolderStore
from store.interface import Conflict
store = FolderStore(Path(sys.argv[1]))
added = 0
while added < int(sys.argv[2]):
    found = store.get("count")
    try:
        store.put("count", str(int(found.data) + 1).encode(), if_match=found.etag)
        added += 1
    except Conflict:
        pass
"""


@pytest.fixture
def store(tmp_path: Path) -> FolderStore:
    return FolderStore(tmp_path / "store")


def test_an_object_is_put_and_read_back(store: FolderStore) -> None:
    etag = store.put("a/b.json", b"one", if_match=ABSENT)
    found = store.get("a/b.json")
    assert found is not None
    assert (found.data, found.etag) == (b"one", etag)
    assert store.get("a/c.json") is None
    assert store.get("a/b.json/c") is None


def test_a_put_needs_the_etag_that_is_there(store: FolderStore) -> None:
    with pytest.raises(Conflict):
        store.put("a", b"1", if_match="of nothing")
    first = store.put("a", b"1", if_match=ABSENT)
    with pytest.raises(Conflict):
        store.put("a", b"2", if_match=ABSENT)
    store.put("a", b"2", if_match=first)
    with pytest.raises(Conflict) as refused:
        store.put("a", b"3", if_match=first)
    assert refused.value.key == "a"
    store.put("a", b"4", if_match=ANY)
    assert store.get("a") is not None


def test_a_delete_needs_the_etag_that_is_there(store: FolderStore) -> None:
    etag = store.put("a", b"1", if_match=ABSENT)
    with pytest.raises(Conflict):
        store.delete("a", if_match="another")
    store.delete("a", if_match=etag)
    assert store.get("a") is None
    store.delete("a")


def test_list_gives_keys_by_prefix_and_nothing_of_the_stores_own(store: FolderStore) -> None:
    for key in ("a/2", "a/1/x", "ab", "b"):
        store.put(key, b"", if_match=ABSENT)
    assert store.list("") == ["a/1/x", "a/2", "ab", "b"]
    assert store.list("a") == ["a/1/x", "a/2", "ab"]
    assert store.list("a/") == ["a/1/x", "a/2"]
    assert store.list("none/") == []


@pytest.mark.parametrize("key", ["", "/a", "a/", "a//b", "../a", "a/../b", ".lock", "a b", "a\n"])
def test_a_key_of_another_form_is_refused(store: FolderStore, key: str) -> None:
    with pytest.raises(BadKey):
        store.put(key, b"", if_match=ANY)
    with pytest.raises(BadKey):
        store.get(key)


def test_only_the_owner_can_read_whatever_the_umask(store: FolderStore) -> None:
    before = os.umask(0)
    try:
        store.put("a/b", b"secret", if_match=ABSENT)
        path = store.local_path("c/d/state")
    finally:
        os.umask(before)
    for folder in (store.root, store.root / "a", path.parent, path.parent.parent):
        assert folder.stat().st_mode & 0o777 == 0o700
    for file in (store.root / "a/b", store.root / ".lock"):
        assert file.stat().st_mode & 0o777 == 0o600


def test_a_store_that_cannot_be_used_says_so(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(StoreUnavailable, match="check that the folder"):
        FolderStore(tmp_path / "file").put("a", b"", if_match=ANY)


def test_no_change_of_several_processes_is_lost(store: FolderStore) -> None:
    store.put("count", b"0", if_match=ABSENT)
    command = [sys.executable, "-c", ADDER, str(store.root), "25"]
    adders = [subprocess.Popen(command, cwd=ROOT) for _ in range(4)]
    assert [adder.wait(60) for adder in adders] == [0, 0, 0, 0]
    found = store.get("count")
    assert found is not None
    assert found.data == b"100"
