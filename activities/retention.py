"""Drops the plans and tools' files of old runs, since they hold secrets in clear.

Those of the newest runs are kept, so that people can find out what happened. Journals are kept:
they are small, hold no secrets, and keep anything from being done twice. A run with an operation
that has no outcome is kept for another week, since another attempt may look for its tool.
"""

import logging
import time
from collections.abc import Callable, Iterable
from pathlib import Path

from activities.removal import remove_each
from activities.workplace import Workplace
from store.customer import ALLOWED_PREFIX, APPROVALS_PREFIX
from store.errors import StoreError
from store.interface import Store
from store.journal import Journal

KEPT_RUNS = 20
"""The number of runs that are kept: of those that change the install, and of each action."""

STEP = "step"
"""The verb in the keys of operations that run an action's step."""

_UNSETTLED_SECONDS = 7 * 24 * 3600.0

_log = logging.getLogger(__name__)


def drop_what_old_runs_left(workplace: Workplace) -> None:
    """To be called at the end of a run; blocks.

    Errors are only logged, since they do not concern this run, and the next run tries again.
    """
    try:
        drop_old_runs(workplace.store, workplace.data / "runs", workplace.holds_only_copy)
    except (StoreError, OSError) as error:
        _log.warning("Old runs' plans and tools' files could not be dropped: %s", error)


def drop_old_runs(
    store: Store, runs: Path, holds_only_copy: Callable[[Path], bool], now: float | None = None
) -> None:
    """Drop the plans and folders of all but the newest runs; blocks.

    A folder that cannot be removed is named in the log.

    Args:
        store: The install's store, which has the plans.
        runs: The folder on this machine that has a folder for each run.
        holds_only_copy: Whether a run's folder holds the only copy of something; it is kept then.
        now: Epoch seconds; by default the current time.

    Raises:
        StoreError: the store cannot be read or written.
        OSError: the folders cannot be listed.
    """
    history = _History(Journal(store), time.time() if now is None else now)
    plans = store.list("plans/")
    others = [(prefix, store.list(prefix)) for prefix in (APPROVALS_PREFIX, ALLOWED_PREFIX)]
    for run in history.old(key.split("/")[1] for key in plans):
        for prefix, keys in [("plans/", plans), *others]:
            for key in keys:
                if key.startswith(f"{prefix}{run}/"):
                    store.delete(key)
    for group in _groups(runs).values():
        old = (runs / run for run in history.old(group))
        remove_each(run for run in old if not holds_only_copy(run))


def _groups(runs: Path) -> dict[str, list[str]]:
    """The runs that have a folder here, by action; each group is counted separately, so that an
    action that runs every few minutes does not push out the last deploys.

    Returns:
        The runs by action; those that change the install are under the empty name.
    """
    groups: dict[str, list[str]] = {}
    for folder in runs.iterdir() if runs.is_dir() else ():
        if folder.is_dir():
            steps = next(folder.glob(f"*/{STEP}"), None)
            groups.setdefault(steps.parent.name if steps else "", []).append(folder.name)
    return groups


class _History:
    """What the journal knows about runs."""

    def __init__(self, journal: Journal, now: float) -> None:
        self._journal = journal
        self._now = now

    def old(self, runs: Iterable[str]) -> list[str]:
        """Those of the given runs that are not among the newest and have ended."""
        names = set(runs)
        if len(names) <= KEPT_RUNS:
            return []
        newest_first = sorted(names, key=lambda run: (-self._when(run), run))
        return [run for run in newest_first[KEPT_RUNS:] if self._has_ended(run)]

    def _when(self, run: str) -> float:
        """Roughly when the run was at work: when any one of its operations was last tried."""
        keys = self._journal.operations(run)
        entry = self._journal.entry(keys[0]) if keys else None
        return entry.newest_attempt_at if entry else 0.0

    def _has_ended(self, run: str) -> bool:
        entries = (self._journal.entry(key) for key in self._journal.operations(run))
        return not any(
            entry.outcome is None and entry.newest_attempt_at > self._now - _UNSETTLED_SECONDS
            for entry in entries
            if entry
        )
