"""Empties the store of an install that is torn down, and this machine's folders.

What stays are the journals: what was done, and that none of it is done twice. The turn is among
them, so a run that was terminated changes nothing afterwards either, and an attempt that comes
again is let in. What the customer has decided stays, too.
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
    """Delete all that the store and this machine have of the install; may be done again.

    What cannot be removed from this machine is told in the worker's log, and stays.

    Raises:
        BadInput: something is still deployed: its state would be lost.
        LockHeld: something is still at work, and would write to the store again.
        TurnRefused: another run has its turn by now.
    """
    await asyncio.to_thread(_require_torn_down, workplace)
    await _require_rest(workplace)
    say("empties the store")
    for key in await asyncio.to_thread(_what_goes, workplace.store):
        # Each time: an attempt that was given up for lost may wake up in a later run's turn.
        await workplace.check_turn(turn)
        await asyncio.to_thread(workplace.store.delete, key)
    written = await asyncio.to_thread(_what_goes, workplace.store)
    if written:
        raise LockHeld(
            f"While the store of {workplace.install} was emptied, {written[0]} was written to it "
            "by something that began just then. It is emptied again once that has ended."
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
            f"{workplace.install} still has {', '.join(left)}, and the store holds what is needed "
            "to tear them down. Run a `Deprovision` to its end."
        )


async def _require_rest(workplace: Workplace) -> None:
    """An action needs no turn, so one may still run."""
    busy = await workplace.operations.at_work()
    if busy:
        raise LockHeld(
            f"Something is still at work on {workplace.install}: {', '.join(busy)}. The store is "
            "emptied once it has ended."
        )


def _drop_folders(workplace: Workplace) -> None:
    """What tools left on this machine, secrets among it, and the releases that were fetched."""
    work = workplace.work_folder(SANDBOX).parent
    kept: set[Path] = set()
    for name, what in only_copies(specs(workplace.engines)).items():
        for file in work.rglob(name):
            folder = work / file.relative_to(work).parts[0]
            kept.add(folder)
            _log.warning("%s stays: it holds %s", folder, what)
    remove_each(path for path in _within(work) if path not in kept)
    for folder in (workplace.data / "runs", workplace.data / "releases"):
        remove_each(_within(folder))


def _within(folder: Path) -> list[Path]:
    return sorted(folder.iterdir()) if folder.is_dir() else []
