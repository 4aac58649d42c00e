"""Whether the customer's policy is out of reach of a release's own code."""

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from activities.customer.rules import Rules

NOBODY = 65534


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """A folder that everybody may read, unlike pytest's own."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(0o755)
        (folder / "policy.toml").write_text("")
        yield folder


@contextmanager
def as_no_root() -> Iterator[None]:
    """Runs as a worker does: not as root."""
    before = os.geteuid()
    if before == 0:
        os.seteuid(NOBODY)
    try:
        yield
    finally:
        os.seteuid(before)


def _give(path: Path) -> None:
    if os.geteuid() == 0:
        os.chown(path, NOBODY, -1)


def test_a_policy_of_another_in_folders_of_others_is_out_of_reach() -> None:
    with as_no_root():
        assert Rules(Path("/etc/hosts")).why_not_out_of_reach() is None
        assert Rules(Path("/etc/not-there.toml")).why_not_out_of_reach() is None
        assert Rules().why_not_out_of_reach() is None


def test_a_policy_of_ones_own_is_not(open_folder: Path) -> None:
    _give(open_folder / "policy.toml")
    with as_no_root():
        said = Rules(open_folder / "policy.toml").why_not_out_of_reach()
    assert said == f"{open_folder}/policy.toml can be changed by the worker's own user"


def test_nor_is_one_in_a_folder_of_ones_own(open_folder: Path) -> None:
    inner = open_folder / "inner"
    inner.mkdir(mode=0o755)
    (inner / "policy.toml").write_text("")
    (inner / "policy.toml").chmod(0o444)
    _give(open_folder)
    with as_no_root():
        said = Rules(inner / "policy.toml").why_not_out_of_reach()
        missing = Rules(inner / "none.toml").why_not_out_of_reach()
    assert said is not None and "can be replaced by the worker's own user" in said
    assert missing is not None, "whoever may make it decides what is in it"


def test_where_all_may_write_only_what_is_anothers_stays(open_folder: Path) -> None:
    open_folder.chmod(0o1777)
    theirs = open_folder / "policy.toml"
    theirs.chmod(0o444)
    with as_no_root():
        out_of_reach = Rules(theirs).why_not_out_of_reach() is None
        assert out_of_reach == (theirs.stat().st_uid != os.geteuid())
        assert Rules(open_folder / "none.toml").why_not_out_of_reach() is not None


def test_for_root_nothing_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    assert "runs as root" in str(Rules(Path("/etc/hosts")).why_not_out_of_reach())
