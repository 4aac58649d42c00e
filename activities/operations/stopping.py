"""Stops an operation from outside, whether or not an attempt of it is running."""

import asyncio
from pathlib import Path

from activities.operations.file_lock import EXCLUSIVE, lock, open_lock
from activities.operations.spec import INTERRUPT_FILE
from activities.operations.subject import Subject
from store.leases import Lease, Leases
from wire.private_files import write_private


async def interrupt_runs(key: str, place: Subject, runs: Path) -> bool:
    """Interrupts the key's tool and waits until its tree is gone; returns whether one was alive.

    Args:
        key: The operation's key.
        place: The subject it works on.
        runs: The folder of the key's runs on this machine.
    """
    await asyncio.to_thread(_ask_to_interrupt, runs)
    current = place.current()
    if current is None or current.key != key or not place.is_busy():
        return False
    await place.interrupt(current.folder)
    return True


def _ask_to_interrupt(runs: Path) -> None:
    """A supervisor that is being started right now sees this file before it starts its tool."""
    for folder in runs.glob("*-*"):
        write_private(folder / INTERRUPT_FILE, b"")


def give_lease_back(key: str, place: Subject, leases: Leases) -> Lease | None:
    """Releases this machine's lease; returns another machine's lease if that is for the key.

    If another operation on this machine works on the subject, it keeps the lease and releases it.
    """
    with open_lock(place.driver_lock) as driver:
        if not lock(driver.descriptor, EXCLUSIVE, block=False):
            return None
        lease = leases.acquire(place.name, key)
        if not leases.is_own(lease):
            return lease if lease.key == key else None
        if not place.is_busy():
            leases.release(place.name)
        return None
