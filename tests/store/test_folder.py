"""Specific to the folder store: file modes, foreign files in the folder, and its failures."""

import os
from pathlib import Path

import pytest

from store.checking import check_store
from store.errors import StoreUnavailable
from store.folder import FolderStore
from store.interface import ABSENT, ANY, Store


@pytest.fixture
def store(tmp_path: Path) -> FolderStore:
    return FolderStore(tmp_path / "store")


def test_list_gives_nothing_that_is_no_key(store: FolderStore) -> None:
    store.put("a/b", b"", if_match=ABSENT)
    (store.root / "a" / "b~").touch()
    (store.root / "a" / ".hidden").touch()
    assert store.list("") == ["a/b"]


def test_a_key_is_a_file_of_the_folder(store: FolderStore) -> None:
    path = store.local_path("state/net/terraform.tfstate")
    assert path == store.root / "state/net/terraform.tfstate"
    assert path.parent.is_dir()


def test_it_lies_in_no_bucket(store: Store) -> None:
    assert store.s3_place() is None


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
    with pytest.raises(StoreUnavailable, match="check that the folder"):
        check_store(FolderStore(tmp_path / "file"))
