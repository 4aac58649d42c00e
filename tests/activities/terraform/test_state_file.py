"""The state is never torn or accidentally empty, and not lost if it could not be written."""

import json
import os
from pathlib import Path

import pytest

from activities.terraform.state_file import StateFile, instances
from activities.terraform.state_keys import kept_key, set_aside_key, state_key
from contracts.errors import EngineFailed
from store.folder import FolderStore
from store.left_files import NoFileLeft


def state(serial: int = 3, lineage: str = "l", **more: object) -> bytes:
    return json.dumps({"version": 4, "serial": serial, "lineage": lineage, **more}).encode()


class Site:
    def __init__(self, root: Path) -> None:
        self.store = FolderStore(root / "store")
        self.path = self.store.local_path(state_key("net"))
        self.folder = root / "work"
        self.folder.mkdir()
        self.errored = self.folder / "errored.tfstate"

    @property
    def state(self) -> StateFile:
        return StateFile(self.store, "net")

    def require_whole(self) -> None:
        self.state.require_whole()

    def keep(self, content: bytes) -> None:
        self.path.write_bytes(content)
        self.state.keep_copy()

    def take(self) -> None:
        self.state.take_errored(self.folder)

    def get(self, key: str) -> bytes | None:
        found = self.store.get(key)
        return found.data if found else None


@pytest.fixture
def site(tmp_path: Path) -> Site:
    return Site(tmp_path)


def test_none_before_the_first_apply(site: Site) -> None:
    site.require_whole()
    site.state.keep_copy()
    site.require_whole()
    assert site.state.read() is None
    site.path.write_bytes(b"")
    with pytest.raises(EngineFailed, match=r"is empty, and it is not known .* remove the file"):
        site.require_whole()
    assert site.path.exists()


@pytest.mark.parametrize(("emptied", "stays"), [(False, False), (True, True)])
def test_an_empty_one_of_a_terraform_that_died_before_it_wrote_goes(
    site: Site, emptied: bool, stays: bool
) -> None:
    """Terraform creates the file to lock it, then writes the lock's info; only much later does it
    truncate and write the file."""
    site.path.write_bytes(b"")
    note = site.path.with_name(".terraform.tfstate.lock.info")
    note.write_text("{}")
    locked = note.stat().st_mtime_ns
    os.utime(site.path, ns=(locked, locked + (1 if emptied else -1)))
    site.state.drop_untouched()
    assert site.path.exists() == stays
    site.path.write_bytes(state())
    os.utime(site.path, ns=(locked, locked - 1))
    site.state.drop_untouched()
    assert site.path.read_bytes() == state()


def test_of_a_first_apply_that_was_seen_killed_the_empty_one_goes(
    site: Site, tmp_path: Path
) -> None:
    site.path.write_bytes(b"")
    assert not site.state.restore(tmp_path / "snapshot")
    assert not site.path.exists()
    site.require_whole()


def test_an_empty_one_that_was_not_empty(site: Site) -> None:
    site.keep(state())
    site.require_whole()
    site.path.with_name("terraform.tfstate.backup").write_bytes(state(2))
    for damage in (lambda: site.path.write_bytes(b""), site.path.unlink):
        damage()
        with pytest.raises(EngineFailed) as caught:
            site.require_whole()
        for word in ("net", str(site.path), "is empty", kept_key("net"), ".backup", "import"):
            assert word in caught.value.message


@pytest.mark.parametrize("content", [state()[:20], b"\0" * 50, b"[]", b"\xff\xfe"])
def test_a_torn_one(site: Site, content: bytes) -> None:
    site.path.write_bytes(content)
    with pytest.raises(EngineFailed, match="is torn"):
        site.require_whole()
    assert site.state.read() is None


@pytest.mark.parametrize("now", [state(), b"", state()[:20]])
def test_a_newer_one_takes_its_place(site: Site, now: bytes) -> None:
    site.keep(state())
    site.path.write_bytes(now)
    site.errored.write_bytes(state(9))
    site.take()
    assert site.path.read_bytes() == state(9)
    assert site.get(set_aside_key("net")) == now
    assert not site.errored.exists()


def test_the_one_of_a_first_apply_takes_its_place(site: Site) -> None:
    site.errored.write_bytes(state(1))
    site.take()
    assert site.path.read_bytes() == state(1)


def test_one_that_is_in_its_place_already_only_goes(site: Site) -> None:
    site.keep(state())
    site.errored.write_bytes(state())
    site.take()
    assert not site.errored.exists()
    assert site.get(set_aside_key("net")) is None


@pytest.mark.parametrize(
    ("content", "why"),
    [(state(9, "other"), "lineage"), (state(3, x=1), "serial 3"), (state(2), "serial 2"),
     (state()[:9], "torn"), (b"", "is empty"), (b"no JSON", "torn"), (b"[1]", "torn")],
)  # fmt: skip
def test_one_that_may_not_is_kept_and_reported(site: Site, content: bytes, why: str) -> None:
    for now in (state(), state()[:20], b""):
        site.keep(state())
        site.path.write_bytes(now)
        site.errored.write_bytes(content)
        with pytest.raises(EngineFailed, match=why) as caught:
            site.take()
        assert str(site.errored) in caught.value.message
        assert site.errored.read_bytes() == content
        assert site.path.read_bytes() == now


def test_addresses_are_those_of_terraform() -> None:
    found = instances(
        {
            "resources": [
                {"mode": "managed", "type": "t", "name": "a", "instances": [{"index_key": "k.1"}]},
                {"mode": "managed", "type": "t", "name": "b", "instances": [{"index_key": 0}]},
                {"mode": "data", "type": "t", "name": "c", "module": "module.m", "instances": [{}]},
            ]
        }
    )
    assert [address for address, _ in found] == ['t.a["k.1"]', "t.b[0]", "module.m.data.t.c"]


def test_what_a_killed_terraform_left_is_replaced_by_the_newest_whole_version(
    site: Site, tmp_path: Path
) -> None:
    snapshot = tmp_path / "snapshot"
    # Before anything was written, there is nothing to put back.
    assert not site.state.restore(snapshot)
    site.keep(state(1))
    assert not site.state.restore(snapshot)
    for torn in (b"", state(3)[:10]):
        site.path.write_bytes(torn)
        assert site.state.restore(snapshot)
        assert site.path.read_bytes() == state(1)
    snapshot.write_bytes(state(2))
    site.path.write_bytes(b"")
    assert site.state.restore(snapshot)
    assert site.path.read_bytes() == state(2)
    site.require_whole()


def test_an_errored_state_that_is_no_file_stays_and_is_reported(site: Site) -> None:
    os.mkfifo(site.errored)
    with pytest.raises(NoFileLeft, match=f"{site.errored} is a pipe, not a file"):
        site.take()
    assert site.errored.is_fifo()
