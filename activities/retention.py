"""Drops what old runs left: their plans, and the files of their tools, hold secrets in clear.

The newest runs keep theirs, for whoever must find out what happened. Journals stay: they are small,
hold no secrets, and keep anything from being done twice. A run that has an operation without an
outcome is kept for a week more, since another attempt may look for its tool.
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
"""Of those that change the install, and of each action."""

STEP = "step"
"""The verb in the keys of an action's operations."""

_UNSETTLED_SECONDS = 7 * 24 * 3600.0

_log = logging.getLogger(__name__)


def drop_what_old_runs_left(workplace: Workplace) -> None:
    """Drop it at the end of a run; blocks.

    The next run's end tries again: this one went well whatever becomes of old files.
    """
    try:
        drop_old_runs(workplace.store, workplace.data / "runs", workplace.holds_only_copy)
    except (StoreError, OSError) as error:
        _log.warning("Old plans and files of tools could not be dropped: %s", error)


def drop_old_runs(
    store: Store, runs: Path, holds_only_copy: Callable[[Path], bool], now: float | None = None
) -> None:
    """Drop the plans of all but the newest runs, and the folders of all but the newest; blocks.

    A folder that cannot be removed is told in the log.

    Args:
        store: The install's store; plans are in it.
        runs: The folder on this machine that holds a folder for each run.
        holds_only_copy: Whether a run's folder holds what is nowhere else; it stays then.
        now: Epoch seconds; by default, the time now.

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
    """The runs that have a folder here, by what they count against: an action that runs every few
    minutes must not push out what the last deploys left.

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
    """What the journal tells of runs."""

    def __init__(self, journal: Journal, now: float) -> None:
        self._journal = journal
        self._now = now

    def old(self, runs: Iterable[str]) -> list[str]:
        """Those of the runs that are not among the newest, and have ended."""
        names = set(runs)
        if len(names) <= KEPT_RUNS:
            return []
        newest_first = sorted(names, key=lambda run: (-self._when(run), run))
        return [run for run in newest_first[KEPT_RUNS:] if self._has_ended(run)]

    def _when(self, run: str) -> float:
        """About when the run was at work: any operation of it tells."""
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
