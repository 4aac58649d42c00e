"""Empties the store of an install that has been torn down, and this machine's folders.

The journals stay: they record what was done, and keep anything from being done twice. The turn is
among them, so that a run that was terminated cannot change anything afterwards, and a repeated
attempt is recognised as the turn's holder. The customer's decisions stay too.
"""

import asyncio
import logging
from pathlib import Path

from activities.engines import specs
from activities.once import Say
from activities.removal import remove_each
from activities.workplace import Workplace
from apps.parts import SANDBOX, part_shown
from contracts.engines import only_copies
from contracts.errors import BadInput, LockHeld
from contracts.messages import Turn
from store.customer import CUSTOMER_PREFIX
from store.interface import Store

_KEPT = ("journals/", CUSTOMER_PREFIX)

_log = logging.getLogger(__name__)


async def empty(workplace: Workplace, turn: Turn, say: Say) -> None:
    """Delete everything that the store and this machine have of the install; may be repeated.

    Files of this machine that cannot be removed are named in the worker's log, and stay.

    Raises:
        BadInput: something is still deployed, and its state would be lost.
        LockHeld: an operation is still at work, and would write to the store again.
        TurnRefused: another run has the turn by now.
    """
    await asyncio.to_thread(_require_torn_down, workplace)
    await _require_rest(workplace)
    say("empties the store")
    for key in await asyncio.to_thread(_what_goes, workplace.store):
        # Checked each time, since an attempt that counts as lost may wake up in a later run's turn.
        await workplace.check_turn(turn)
        await asyncio.to_thread(workplace.store.delete, key)
    written = await asyncio.to_thread(_what_goes, workplace.store)
    if written:
        raise LockHeld(
            f"While the store of {workplace.install} was being emptied, {written[0]} was written "
            "to it by an operation that had just begun. It is emptied again once that has ended."
        )
    await workplace.check_turn(turn)
    await asyncio.to_thread(_drop_folders, workplace)


def _what_goes(store: Store) -> list[str]:
    return [key for key in store.list("") if not key.startswith(_KEPT)]


def _require_torn_down(workplace: Workplace) -> None:
    left = sorted(workplace.state.components())
    if workplace.state.component(SANDBOX):
        left.append(part_shown(SANDBOX))
    if left:
        raise BadInput(
            f"{workplace.install} still has {', '.join(left)}, and tearing them down needs what "
            "is in the store. Run a `Deprovision` to its end."
        )


async def _require_rest(workplace: Workplace) -> None:
    """Actions need no turn, so one may still be running."""
    busy = await workplace.operations.at_work()
    if busy:
        raise LockHeld(
            f"Operations are still at work on {workplace.install}: {', '.join(busy)}. The store "
            "is emptied once they have ended."
        )


def _drop_folders(workplace: Workplace) -> None:
    """Removes tools' files, which may hold secrets, and fetched releases from this machine."""
    work = workplace.work_folder(SANDBOX).parent
    kept: set[Path] = set()
    for name, what in only_copies(specs(workplace.engines)).items():
        for file in work.rglob(name):
            folder = work / file.relative_to(work).parts[0]
            kept.add(folder)
            _log.warning("%s is not removed: it has %s", folder, what)
    remove_each(path for path in _within(work) if path not in kept)
    for folder in (workplace.data / "runs", workplace.data / "releases"):
        remove_each(_within(folder))


def _within(folder: Path) -> list[Path]:
    return sorted(folder.iterdir()) if folder.is_dir() else []
