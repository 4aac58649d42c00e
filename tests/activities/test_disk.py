"""A full disk: it is reported, what must not be lost is kept, and no file is left incomplete."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from activities.operations.operation import in_store
from activities.operations.spec import Command, ToolRun
from activities.terraform.outputs import read_whole
from contracts.errors import DiskFull
from store.errors import StoreUnavailable
from store.folder import FolderStore
from store.interface import ANY
from store.reserve import RESERVE, has_room, keep_reserve
from tests.activities.operations.operation_site import Site
from tests.small_disk import fill, small_disk
from wire.private_files import write_new

pytestmark = pytest.mark.process

LARGE = b"x" * 200_000


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    with small_disk(tmp_path / "disk", 16) as place:
        yield place


async def test_it_is_reported_with_the_disk_and_its_room_and_nothing_is_torn(disk: Path) -> None:
    store = FolderStore(disk / "store")
    store.put("components/net", LARGE, if_match=ANY)
    fill(disk)
    with pytest.raises(DiskFull) as caught:
        await in_store(store.put, "components/net", LARGE + b"y", if_match=ANY)
    assert f"The disk {disk} of the worker's machine" in caught.value.message
    assert "of 16.0 MiB free" in caught.value.message
    assert caught.value.retryable
    found = store.get("components/net")
    assert found is not None and found.data == LARGE


def test_the_reserve_is_given_up_for_what_must_not_be_lost_and_made_again(disk: Path) -> None:
    store = FolderStore(disk / "store")
    assert keep_reserve(disk)
    assert (disk / RESERVE).stat().st_blocks * 512 >= 16 * 1024 * 1024 // 32
    filler = fill(disk)
    assert not has_room(disk)
    with pytest.raises(Exception, match="No space left"):
        store.put("plans/run/net/plan/1/changes.json", LARGE, if_match=ANY)
    assert (disk / RESERVE).exists(), "not for what can be made again"
    store.put("terraform/net/terraform.tfstate", LARGE, if_match=ANY)
    assert not (disk / RESERVE).exists()
    assert not keep_reserve(disk), "there is no room for one"
    filler.unlink()
    assert keep_reserve(disk)


async def test_how_a_tool_ended_on_a_full_disk_is_known(disk: Path) -> None:
    """A script cannot be repeated, so its end is written into the reserve, or as soon as there is
    space."""
    site = Site(disk)
    script = f"head -c 64m /dev/zero > {disk}/filler; exit 7"
    run = ToolRun(
        [Command("step", ["/bin/sh", "-c", script], keeps_exit=True)],
        disk,
        {"PATH": os.environ["PATH"]},
        120,
    )
    keep_reserve(site.data)
    async with site.operations().open("run/net/step", "net", lambda words: None) as operation:
        end = await operation.run("step", run)
        assert (end.outcome, end.exits) == ("exited", {"step": 7})
        (disk / "filler").unlink()
    assert (site.data / RESERVE).exists(), "it is there again"


async def test_the_lease_of_a_tool_is_renewed_on_a_full_disk(disk: Path) -> None:
    """Otherwise the tool would be stopped, and a script's work be lost."""
    site = Site(disk)
    leases = site.leases(site.machine)
    leases.acquire("net", "run/net/step")
    fill(disk)
    assert not (disk / RESERVE).exists()
    before = leases.renew("net").expires_at
    for _ in range(3):
        renewed = leases.renew("net")
        assert renewed.expires_at >= before
        before = renewed.expires_at
    assert leases.is_own(leases.acquire("net", "run/net/step"))
    with pytest.raises(StoreUnavailable):
        site.store.put("components/net", b"{}" * 4096, if_match=ANY)


async def test_a_tool_that_cannot_be_started_on_a_full_disk_says_so(disk: Path) -> None:
    site = Site(disk)
    run = ToolRun([Command("tool", ["/bin/true"])], disk, {"PATH": os.environ["PATH"]}, 60)
    async with site.operations().open("run/net/plan", "net", lambda words: None) as operation:
        filler = fill(disk)
        with pytest.raises(DiskFull, match="Free space there"):
            await operation.run("plan", run)
        filler.unlink()
        assert (await operation.run("plan", run)).succeeded()


def test_what_must_be_new_is_whole_or_not_there(disk: Path) -> None:
    """Otherwise the next attempt would find it, and fail because of it."""
    filler = fill(disk)
    with pytest.raises(OSError, match="No space left") as caught:
        write_new(disk / "script", LARGE)
    assert caught.value.filename == str(disk / "script")
    filler.unlink()
    write_new(disk / "script", LARGE)
    assert (disk / "script").read_bytes() == LARGE


@pytest.mark.parametrize("torn", [b"", b'{"id": {"sensi'])
def test_what_terraform_printed_without_room_is_printed_again(tmp_path: Path, torn: bytes) -> None:
    """Terraform does not notice that its output is incomplete; that is no failure of the apply."""
    file = tmp_path / "outputs.json"
    file.write_bytes(torn)
    with pytest.raises(DiskFull, match="what Terraform prints into outputs"):
        read_whole(file)
    assert not file.exists()
    file.write_bytes(b"{}")
    assert read_whole(file) == b"{}"
