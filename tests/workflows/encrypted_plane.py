"""A Temporal server and a control worker with keys, and clients with those of workers."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

from temporalio.client import Client, WorkflowHandle
from temporalio.common import SearchAttributeKey, SearchAttributePair, TypedSearchAttributes

from contracts.names import ATTRIBUTE_INSTALL, BUILD_QUEUE, CONTROL_QUEUE, install_queue
from tests.workflow_histories import replay_all
from tests.workflows.hand_worker import HandWorker
from tests.workflows.workflow_plane import controlling, temporal
from tests.workflows.workflow_site import FakeControl
from wire.conversion import encrypting
from wire.encryption.key_ring import KeyRing
from wire.encryption.keys import Keys, MasterKeys
from wire.encryption.subjects import BUILD, install_subject

MASTER = MasterKeys.new()


@dataclass(frozen=True)
class EncryptedPlane:
    """What is there, as each side sees it."""

    client: Client
    """The control side's."""
    releases: FakeControl

    def install_worker(self, install: str) -> HandWorker:
        """The install's worker, by hand."""
        keys = MASTER.for_subject("dev", install_subject(install))
        return HandWorker(_with(self.client, keys), install_queue(install))

    async def start_stuck(self, install: str) -> WorkflowHandle[Any, Any]:
        """A run whose workflow tasks fail: its input has a key that no control worker was given."""
        shown = SearchAttributePair(SearchAttributeKey.for_keyword(ATTRIBUTE_INSTALL), install)
        return await _with(self.client, MasterKeys.new()).start_workflow(
            "Deprovision",
            {"install": install},
            id=f"deprovision/{install}/1",
            task_queue=CONTROL_QUEUE,
            search_attributes=TypedSearchAttributes([shown]),
        )

    def build_worker(self) -> HandWorker:
        """The org's build worker, by hand."""
        return HandWorker(_with(self.client, MASTER.for_subject("dev", BUILD)), BUILD_QUEUE)


@asynccontextmanager
async def encrypted_server() -> AsyncIterator[EncryptedPlane]:
    """Without a control worker."""
    async with temporal() as plain:
        yield EncryptedPlane(_with(plain, MASTER), FakeControl())


@asynccontextmanager
async def encrypted_plane(*, replays: bool = True) -> AsyncIterator[EncryptedPlane]:
    """All of it, and nothing of it afterwards. All that ran there must replay.

    Args:
        replays: Unless workflows of a test's own ran there.
    """
    async with temporal() as plain:
        releases = FakeControl()
        client = _with(plain, MASTER)
        async with controlling(client, releases):
            yield EncryptedPlane(client, releases)
        if replays:
            await replay_all(client)


def _with(client: Client, keys: Keys) -> Client:
    """The same connection, with keys."""
    config = client.config()
    config["data_converter"] = encrypting(KeyRing(keys), client.namespace)
    return Client(**config)
