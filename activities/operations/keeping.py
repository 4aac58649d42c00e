"""Keeps a lease while a coroutine works on the subject, and tells when it is lost."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

from activities.operations.spec import LeaseTerms
from store.leases import Leases, LeaseTaken


class KeptLease:
    """This machine's lease on a subject, as its keeper sees it."""

    def __init__(self, expires_at: float) -> None:
        self.expires_at = expires_at
        """Epoch seconds."""
        self.lost = asyncio.Event()
        """Set once another machine may work on the subject."""
        self.why = ""


@asynccontextmanager
async def keep_lease(
    leases: Leases, subject: str, terms: LeaseTerms, expires_at: float | None
) -> AsyncIterator[KeptLease]:
    """Renews the lease while the block runs; at once, if it is not known when it expires."""
    lease = KeptLease(expires_at or leases.clock() + terms.seconds)
    task = asyncio.create_task(_renew(lease, leases, subject, terms, at_once=expires_at is None))
    try:
        yield lease
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task


async def _renew(
    lease: KeptLease, leases: Leases, subject: str, terms: LeaseTerms, *, at_once: bool
) -> None:
    pause = 0.0 if at_once else terms.next_renewal(lease.expires_at - leases.clock())
    while True:
        await asyncio.sleep(pause)
        try:
            lease.expires_at = (await asyncio.to_thread(leases.renew, subject)).expires_at
        except LeaseTaken as error:
            lease.why = str(error)
            lease.lost.set()
            return
        except Exception as error:  # whatever it is, the lease is not renewed
            if leases.clock() >= lease.expires_at - terms.margin_seconds:
                lease.why = (
                    f"the lease on {subject} cannot be renewed: {type(error).__name__}: {error}"
                )
                lease.lost.set()
        pause = terms.next_renewal(lease.expires_at - leases.clock())
