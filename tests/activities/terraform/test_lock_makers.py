"""Which run made a lock: one of the same user and host that may have been alive at the time."""

import os
from pathlib import Path

import pytest

from activities.operations.status import STATUS_FILE, CommandStatus, Status
from activities.terraform.lock_makers import LockMakers
from activities.terraform.state_lock import StateLock
from store.folder import FolderStore
from store.journal import Journal, who_am_i
from store.machine import Machine

HERE, THERE = Machine("here", "boot"), Machine("there", "boot")
KEY = "run-1/net/apply/0"


class Site:
    """A store with a journal whose clock the test sets, and the data folder of a worker."""

    def __init__(self, root: Path) -> None:
        self.store = FolderStore(root / "store")
        self.data = root / "data"
        self.now = 1000.0
        self.journal = Journal(self.store, lambda: self.now)

    def run(self, at: float, label: str = "apply", machine: Machine = HERE, key: str = KEY) -> None:
        self.now = at
        self.journal.begin_run(key, label, machine)

    def ended(self, at: float, run: str = "1-apply", outcome: str | None = "exited") -> None:
        folder = self.data / "runs" / KEY / run
        folder.mkdir(parents=True)
        command = CommandStatus("apply", state="ended" if outcome else "running")
        status = Status("k", "apply", 1, 1, 1, [command])
        status.outcome = outcome  # type: ignore[assignment]
        status.save(folder)
        os.utime(folder / STATUS_FILE, (at, at))

    def is_ours(self, created: float, **changes: str) -> bool:
        lock = {"who": who_am_i(), "operation": "Apply"} | changes
        makers = LockMakers(self.store, HERE, self.data, held_since=2000.0)
        made = StateLock("1-2-3", created=created, etag="e", **lock)
        return makers.maker_of("net", made) is not None


@pytest.fixture
def site(tmp_path: Path) -> Site:
    return Site(tmp_path)


def test_of_a_run_that_was_lost(site: Site) -> None:
    site.run(1000)
    site.ended(1100, outcome=None)
    assert site.is_ours(1000.5)
    assert site.is_ours(3000)
    assert not site.is_ours(999.9)
    assert not site.is_ours(1000 + 3 * 3600)


def test_of_whom_the_lock_names(site: Site) -> None:
    site.run(1000)
    user, _, host = who_am_i().partition("@")
    assert site.is_ours(1001, who=f"@{host}")
    assert not site.is_ours(1001, who=f"{user}@laptop")
    assert not site.is_ours(1001, who=f"ann@{host}")
    assert not site.is_ours(1001, who="")
    assert not site.is_ours(1001, operation="Plan")


def test_after_a_run_ended_here_a_lock_is_another_s(site: Site) -> None:
    site.run(1000)
    site.ended(1100)
    assert site.is_ours(1099)
    assert not site.is_ours(1101)


def test_after_the_next_run_began_a_lock_is_not_of_the_one_before(site: Site) -> None:
    site.run(1000)
    site.run(1100, "plan", key="run-2/net/plan/0")
    assert site.is_ours(1099)
    assert not site.is_ours(1101)
    assert site.is_ours(1101, operation="Plan")
    # Runs on another part do not count.
    site.run(1200, key="run-3/db/apply/0")
    assert site.is_ours(1201, operation="Plan")
    assert not site.is_ours(1201)


def test_after_an_outcome_a_lock_is_another_s(site: Site) -> None:
    site.run(1000, machine=THERE)
    site.now = 1100
    site.journal.record_result(KEY, {})
    assert site.is_ours(1099)
    assert not site.is_ours(1101)


def test_a_cancel_is_noted_before_the_tool_ends(site: Site) -> None:
    site.run(1000)
    site.now = 1001
    site.journal.record_failure(KEY, "Cancelled", "A person cancelled the run.")
    assert site.is_ours(1002)


def test_another_machine_s_tools_had_ended_when_this_one_took_the_part(site: Site) -> None:
    site.run(1000, machine=THERE)
    assert site.is_ours(1999)
    assert not site.is_ours(2100)


def test_nothing_is_of_a_run_that_an_older_worker_noted(site: Site) -> None:
    site.run(1000)
    path = site.store.local_path(f"journals/{KEY}.json")
    assert path is not None
    path.write_text(path.read_text().replace(who_am_i(), ""))
    assert not site.is_ours(1001, who="")
