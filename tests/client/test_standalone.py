"""A standalone activity is answered by the install that was asked, and leaves nothing behind."""

import asyncio
from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from client.control_plane import ControlPlane
from client.errors import Away
from contracts.deploys import VIEW, PlanView, ViewInput
from contracts.names import install_queue
from tests.standalone_activities import remaining
from tests.workflows.encrypted_plane import MASTER, EncryptedPlane, encrypted_plane
from tests.workflows.hand_worker import HandWorker
from tests.workflows.workflow_site import digest, until
from wire.connection import TemporalAddress
from wire.conversion import encrypting
from wire.encryption.key_ring import KeyRing
from wire.faults import Unreadable

pytestmark = [pytest.mark.process, pytest.mark.asyncio(loop_scope="module")]

PAGE = PlanView(component="net", digest=digest("plan"), text="+ net", page=1, pages=1)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def there() -> AsyncIterator[EncryptedPlane]:
    async with encrypted_plane() as started:
        yield started


def asked(there: EncryptedPlane) -> "asyncio.Task[PlanView]":
    plane = ControlPlane(TemporalAddress("", "dev"), there.client)
    input = ViewInput(install="acme", component="net", plan_key="x/net/plan/1")
    call = plane.do(VIEW, input, queue=install_queue("acme"), whose="The worker")
    return asyncio.create_task(call)


async def nothing_is_left(there: EncryptedPlane) -> bool:
    return not await remaining(there.client)


async def test_the_installs_own_answer_is_read_and_deleted(there: EncryptedPlane) -> None:
    call, worker = asked(there), there.install_worker("acme")
    await worker.complete(await worker.take(), PAGE)
    assert await call == PAGE
    await until(lambda: nothing_is_left(there))


async def test_an_answer_of_another_install_is_refused_and_deleted(there: EncryptedPlane) -> None:
    call, worker = asked(there), there.install_worker("acme")
    task = await worker.take()
    others = encrypting(KeyRing(MASTER.for_subject("dev", "install/other")), "dev")
    answering = HandWorker(there.client, install_queue("acme"))
    await answering.complete(type(task)(task.token, task.type, task.input, others), PAGE)
    with pytest.raises(Unreadable, match="belongs to 'install/other'"):
        await call
    await until(lambda: nothing_is_left(there))


async def test_a_worker_that_is_away_is_reported_and_nothing_is_left(there: EncryptedPlane) -> None:
    with pytest.raises(Away):
        await asked(there)
    await until(lambda: nothing_is_left(there))
