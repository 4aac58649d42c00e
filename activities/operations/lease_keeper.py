"""Renews a lease while a coroutine works on the subject, and signals when the lease is lost."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from activities.operations.spec import LeaseTerms
from activities.operations.steady_clock import steady
from store.leases import Leases, LeaseTaken


class KeptLease:
    """This machine's lease on a subject, as far as this process knows."""

    def __init__(self, lasts_until: float) -> None:
        self.lasts_until = lasts_until
        """On the `steady` clock, so that setting the wall clock does not end a renewed lease."""
        self.lost = asyncio.Event()
        """Set once another machine may work on the subject."""
        self.why = ""


@asynccontextmanager
async def keep_lease(
    leases: Leases, subject: str, terms: LeaseTerms, lasts_until: float | None
) -> AsyncIterator[KeptLease]:
    """Renews the lease while the block runs: at once if `lasts_until` is None (not known)."""
    lease = KeptLease(lasts_until or steady() + terms.seconds)
    task = asyncio.create_task(_renew(lease, leases, subject, terms, at_once=lasts_until is None))
    try:
        yield lease
    finally:
        task.cancel()
        # Not `await task`: if a person cancels at this moment, that CancelledError would look like
        # the task's own.
        await asyncio.wait({task})


async def _renew(
    lease: KeptLease, leases: Leases, subject: str, terms: LeaseTerms, *, at_once: bool
) -> None:
    pause = 0.0 if at_once else terms.next_renewal(lease.lasts_until - steady())
    while True:
        await asyncio.sleep(pause)
        try:
            asked = steady()
            await asyncio.to_thread(leases.renew, subject)
            lease.lasts_until = asked + terms.seconds
        except LeaseTaken as error:
            lease.why = str(error)
            lease.lost.set()
            return
        except Exception as error:  # any error means that the lease was not renewed
            if steady() >= lease.lasts_until - terms.margin_seconds:
                lease.why = (
                    f"the lease on {subject} cannot be renewed: {type(error).__name__}: {error}"
                )
                lease.lost.set()
        pause = terms.next_renewal(lease.lasts_until - steady())
