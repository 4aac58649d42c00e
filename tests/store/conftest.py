"""Both kinds of store, for the tests that every store must pass."""

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from store.folder import FolderStore
from store.interface import Store
from store.opening import folder_description, open_store, s3_description
from store.s3 import S3Store
from store.s3_place import S3Place
from tests.s3_server import S3Server

KINDS = ["folder", pytest.param("s3", marks=pytest.mark.process)]


@dataclass(frozen=True)
class Described:
    """A store, and the description by which another process opens it."""

    store: Store
    description: dict[str, str]


@pytest.fixture
def s3_place(s3_server: S3Server, s3_environment: None) -> S3Place:
    return S3Place(s3_server.make_bucket(), "installs/acme", "eu-central-1", s3_server.endpoint)


@pytest.fixture
def s3(s3_place: S3Place) -> Iterator[S3Store]:
    with contextlib.closing(S3Store(s3_place)) as store:
        yield store


@pytest.fixture(params=KINDS)
def described(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Described]:
    if request.param == "folder":
        description = folder_description(tmp_path / "store")
        yield Described(FolderStore(tmp_path / "store"), description)
        return
    description = s3_description(request.getfixturevalue("s3_place"))
    store = open_store(description)
    assert isinstance(store, S3Store)
    with contextlib.closing(store):
        yield Described(store, description)


@pytest.fixture
def store(described: Described) -> Store:
    return described.store
