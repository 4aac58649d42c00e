"""What today's code stores has a golden, and is what that says: or older workers' data is at risk.

Where a test here fails since a field or a place was renamed, the name was part of a format: take it
back. Where something was added, on purpose, record the next generation
(`python -m tests.stored.record v<n>`) and assert in the tests of reading what is new.
"""

import os
from pathlib import Path

import pytest

from tests.stored.generations import GENERATIONS, GOLDEN, PROSE, content_of, files
from tests.stored.places import PASSING, PLACES, UNRECORDED, place_of
from tests.stored.record import record
from tests.stored.writers import called, writers


@pytest.fixture(scope="module")
def today(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("today")
    record(folder)
    return folder


NEWEST = GOLDEN / GENERATIONS[-1]


def test_what_is_stored_lies_where_it_did(today: Path) -> None:
    assert files(today).keys() == files(NEWEST).keys()


def test_it_says_the_same(today: Path) -> None:
    names = files(today).keys() & files(NEWEST).keys() - PROSE
    now = {name: content_of(today / name) for name in names}
    assert now == {name: content_of(NEWEST / name) for name in names}


def test_every_place_has_a_golden_and_every_golden_a_place() -> None:
    names = [name for name in files(NEWEST) if place_of(name, PASSING) is None]
    found = {name: place_of(name) for name in files(NEWEST)}
    assert [name for name in names if found[name] is None] == []
    assert PLACES - set(found.values()) == set()


def test_whatever_writes_is_recorded_or_said_why_not(tmp_path: Path) -> None:
    """Where it fails: have `tests/stored` write a golden by it, or say in `places` why there is
    none to be."""
    with called() as recorded:
        record(tmp_path)
    assert {name for _, name in writers() - recorded} == UNRECORDED.keys()


@pytest.mark.parametrize("generation", GENERATIONS)
def test_goldens_name_no_place_of_the_machine_that_recorded_them(generation: str) -> None:
    told = (str(Path.home()).encode() + b"/", b"/tmp/", os.uname().nodename.encode() + b"\n")
    for name, path in files(GOLDEN / generation).items():
        assert not [one for one in told if one in path.read_bytes()], name
