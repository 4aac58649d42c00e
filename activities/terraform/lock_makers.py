"""Finds out which of our runs made a lock on a part's state.

Terraform writes into a lock who holds it and since when, and nothing that we could choose. So a
lock counts as a run's if it was made while that run could have been alive, by the user who started
the run. That time ends as soon as anything shows that the run had ended, so that a person's own
lock, made later, is never taken for ours.
"""

import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from activities.operations.status import STATUS_FILE, Status
from activities.terraform.state_lock import StateLock
from contracts.errors import Cancelled
from store.interface import Store
from store.journal import Entry, Journal, Run
from store.leases import LEASE_MARGIN_SECONDS
from store.machine import Machine

_LONGEST_SECONDS: Final = 2 * 3600.0
"""Longer than a tool's run may take, including its grace period."""

_ENTRIES: Final = 100
"""How many of the part's newest operations are considered."""


@dataclass(frozen=True)
class LockMakers:
    """The runs in one store, as one machine knows them; the caller must hold the part."""

    store: Store
    machine: Machine
    data: Path
    """The worker's data folder."""
    held_since: float = field(default_factory=time.time)
    """Since when this machine holds the part; other machines' tools had ended by then."""

    def maker_of(self, part: str, lock: StateLock) -> Run | None:
        """The run that made the lock; None if that is not certain. Blocks."""
        runs = sorted(self._runs(part), key=lambda one: one.run.at)
        following = [one.run.at for one in runs[1:]] + [float("inf")]
        for one, next_at in zip(runs, following, strict=True):
            # A part's next run begins only after the one before it has ended.
            until = min(next_at, self._at_the_latest(one))
            if one.run.at <= lock.created <= until and _made(one.run, lock):
                return one.run
        return None

    def is_here(self, run: Run) -> bool:
        """Whether the run was started on this machine."""
        return run.machine == self.machine.id

    def _runs(self, part: str) -> Iterator["_KnownRun"]:
        journal = Journal(self.store)
        keys = [key for key in journal.all_operations() if key.split("/")[1:2] == [part]]
        # Roughly newest first: keys begin with workflow run ids, which grow with time.
        for key in sorted(keys, reverse=True)[:_ENTRIES]:
            entry = journal.entry(key)
            for run in entry.runs if entry else ():
                yield _KnownRun(key, run, _settled_at(entry))

    def _at_the_latest(self, known: "_KnownRun") -> float:
        until = min(known.run.at + _LONGEST_SECONDS, known.settled_at)
        if not self.is_here(known.run):
            return min(until, self.held_since + LEASE_MARGIN_SECONDS)
        folder = self.data / "runs" / known.key / f"{known.run.number}-{known.run.label}"
        # Old runs' folders have been removed.
        with suppress(FileNotFoundError):
            status = Status.load(folder)
            if status is not None and status.outcome is not None:
                until = min(until, (folder / STATUS_FILE).stat().st_mtime)
        return until


@dataclass(frozen=True)
class _KnownRun:
    key: str
    run: Run
    settled_at: float
    """When its operation's outcome was recorded; infinite if there is none, or if it was recorded
    before the run ended."""


def _settled_at(entry: Entry | None) -> float:
    if entry is None or entry.outcome is None or entry.outcome_at is None:
        return float("inf")
    failure = entry.outcome.failure
    # When an operation is cancelled, its outcome is recorded before its tool is stopped.
    is_cancelled = failure is not None and failure.type == Cancelled.__name__
    return float("inf") if is_cancelled else entry.outcome_at


def _made(run: Run, lock: StateLock) -> bool:
    user, _, host = run.by.rpartition("@")
    # Terraform knows only users in /etc/passwd, and names no user otherwise.
    is_same = bool(host) and lock.host == host and lock.user in {user, ""}
    return is_same and run.label == lock.operation.lower()
