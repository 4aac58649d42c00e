"""Setting the wall clock while a tool runs ends neither its lease nor the tool."""

import asyncio
import time
from dataclasses import asdict
from pathlib import Path

import pytest

from activities.operations.lease_keeper import keep_lease
from activities.operations.locks import hold
from activities.operations.spec import LeaseTerms, Spec
from activities.operations.status import end_of
from activities.operations.steady_clock import steady
from activities.operations.supervisor import Supervisor
from store.folder import FolderStore
from store.leases import Leases
from store.opening import folder_description
from tests.activities.operations.operation_site import KEY, SUBJECT, Site
from wire.private_files import make_private_folder

TERMS = LeaseTerms(seconds=90, renew_seconds=0.05, margin_seconds=15)


def test_it_goes_on() -> None:
    before = steady()
    time.sleep(0.01)
    assert 0.01 <= steady() - before < 60


@pytest.mark.parametrize("hours", [1, -1])
async def test_the_supervisor_goes_by_the_time_since_the_renewal(
    site: Site, hours: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    Leases(site.store, site.machine).acquire(SUBJECT, KEY)
    folder = site.data / "runs" / KEY / "1-tool"
    make_private_folder(folder)
    with await hold(site.locks / "supervisor.lock") as lock:
        spec = Spec(
            key=KEY,
            subject=SUBJECT,
            label="tool",
            folder=folder,
            tree_lock=site.locks / "tree.lock",
            supervisor_lock=lock.descriptor,
            run=site.shell("sleep 0.5; touch done"),
            store=folder_description(site.store.root),
            machine=asdict(site.machine),
            lease=LeaseTerms(),
            lease_lasts_until=steady() + 90,
        )
        supervisor = Supervisor(spec)
        now = time.time()
        monkeypatch.setattr(time, "time", lambda: now + hours * 3600)
        await asyncio.to_thread(supervisor.run)
    end = end_of(folder)
    assert end is not None
    assert (end.outcome, end.message) == ("exited", "")
    assert site.marked("done")


async def test_a_renewal_that_fails_once_after_a_step_loses_nothing(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = time.time()
    leases = Leases(site.store, site.machine, lambda: now)
    leases.acquire(SUBJECT, KEY)
    failed = asyncio.Event()
    loop = asyncio.get_running_loop()

    def fail(self: FolderStore, key: str) -> None:
        loop.call_soon_threadsafe(failed.set)
        raise OSError(f"{Path(key).name} is away")

    monkeypatch.setattr(FolderStore, "get", fail)
    now += 3600
    async with keep_lease(leases, SUBJECT, TERMS, steady() + 90) as lease:
        await failed.wait()
        failed.clear()
        await failed.wait()
        assert not lease.lost.is_set()


async def test_a_lease_that_lasted_too_long_is_lost(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    leases = Leases(site.store, site.machine)
    leases.acquire(SUBJECT, KEY)

    def fail(self: FolderStore, key: str) -> None:
        raise OSError("away")

    monkeypatch.setattr(FolderStore, "get", fail)
    async with keep_lease(leases, SUBJECT, TERMS, steady() + 14) as lease, asyncio.timeout(10):
        await lease.lost.wait()
    assert "cannot be renewed" in lease.why
