"""Keeping a lease: its end must not swallow a cancellation of the coroutine that holds it."""

import asyncio

import pytest

from activities.operations.lease_keeper import keep_lease
from activities.operations.spec import LeaseTerms
from store.leases import Leases
from tests.activities.operations.operation_site import SUBJECT, Site


async def test_a_cancel_that_arrives_while_the_keeper_ends_is_not_lost(site: Site) -> None:
    leases = Leases(site.store, site.machine)
    leases.acquire(SUBJECT, "k")
    went_on = False

    async def work() -> None:
        nonlocal went_on
        async with keep_lease(leases, SUBJECT, LeaseTerms(), None):
            await asyncio.sleep(0)
            task = asyncio.current_task()
            assert task is not None
            # Runs once the block has been left and its keeper is waited for.
            asyncio.get_running_loop().call_soon(task.cancel)
        went_on = True

    with pytest.raises(asyncio.CancelledError):
        await asyncio.create_task(work())
    assert not went_on
