"""An answer under a key that nobody has fails its run in the end; a key that is late is awaited."""

import asyncio
import dataclasses
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

import pytest
from temporalio.client import Client

from contracts.names import install_queue
from tests.workflow_histories import replay_all
from tests.workflows.encrypted_plane import MASTER, _with
from tests.workflows.hand_worker import HandWorker
from tests.workflows.workflow_plane import controlling, temporal
from tests.workflows.workflow_site import WORKER, FakeControl, Handle, Site, failure
from wire.encryption.codec import Encryption
from wire.encryption.key_patience import PATIENCE_SECONDS, KeyPatience
from wire.encryption.key_ring import KeyRing
from wire.encryption.keys import MasterKeys
from wire.encryption.subjects import install_subject

_ADDED = MASTER.with_new_key()
(_NEW,) = _ADDED.keys.keys() - MASTER.keys.keys()
ROTATED = _ADDED.using(_NEW)
"""What workers of these tests have, and the control side not yet, or never."""


@dataclass
class Plane:
    """A control side that lacks a key, and its clock."""

    client: Client
    keys: KeyRing
    releases: FakeControl
    now: float = 0.0

    def worker(self, install: str, master: MasterKeys) -> HandWorker:
        client = _with(self.client, master.for_subject("dev", install_subject(install)))
        return HandWorker(client, install_queue(install))

    async def with_the_key(self) -> int:
        """Replay all that ran, with a control side that has it."""
        return await replay_all(_with(self.client, ROTATED))


@asynccontextmanager
async def plane() -> AsyncIterator[Plane]:
    async with temporal() as plain:
        keys = KeyRing(MASTER)
        found = Plane(_with(plain, MASTER), keys, FakeControl())
        patience = KeyPatience(clock=lambda: found.now)
        config = found.client.config()
        config["data_converter"] = dataclasses.replace(
            config["data_converter"],
            payload_codec=Encryption(keys, "dev", patience=patience),
        )
        found.client = Client(**config)
        async with controlling(found.client, found.releases):
            yield found
        await replay_all(found.client)


async def _tried_again(run: Handle) -> None:
    """Wait until its workflow task has failed."""
    while (await run.describe()).raw_description.pending_workflow_task.attempt < 2:
        await asyncio.sleep(0.05)


@pytest.mark.long  # a workflow task that failed twice is begun anew every 10 s
async def test_a_key_that_nobody_has_fails_its_run_and_the_history_stays_true() -> None:
    async with plane() as there:
        site = Site(there.client, "acme")
        there.releases.inputs[site.app] = []
        worker = there.worker("acme", ROTATED)
        install = await site.begin()
        await worker.complete(await worker.take(), WORKER)
        await _tried_again(install)
        there.now += PATIENCE_SECONDS
        run: Handle = await site.deploy()
        await worker.complete(await worker.take(), WORKER)
        await _tried_again(run)
        there.now += PATIENCE_SECONDS - 1
        assert (await run.describe()).close_time is None, "it is waited for as long as it is said"
        there.now += 1
        error = await failure(run)
        assert error.type == "BadAnswer" and "every process of the control side" in error.message
        await site.holder(None)
        assert await there.with_the_key() >= 2, (
            "what was given up is not read when the key is there"
        )


async def test_a_key_that_comes_late_is_waited_for() -> None:
    async with plane() as there:
        site = Site(there.client, "late")
        there.releases.inputs[site.app] = []
        worker = there.worker("late", ROTATED)
        install = await site.begin()
        await worker.complete(await worker.take(), WORKER)
        await _tried_again(install)
        there.keys.exchange(ROTATED)
        run: Handle = await site.deploy()
        await worker.complete(await worker.take(), WORKER)
        assert "is no Scope" in (await failure(run)).message, "it was read, and it is the wrong one"
        await site.holder(None)
        assert await there.with_the_key() >= 2
