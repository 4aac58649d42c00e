"""Who answers in an install's name without its keys, or with anything at all, wedges nothing."""

from collections.abc import AsyncIterator
from typing import Any

import pytest
import pytest_asyncio
from temporalio.api.common.v1 import Payload, Payloads
from temporalio.api.failure.v1 import ApplicationFailureInfo, Failure
from temporalio.api.workflowservice.v1 import (
    RespondActivityTaskCompletedRequest,
    RespondActivityTaskFailedRequest,
)
from temporalio.client import Client

from tests.workflows.encrypted_plane import EncryptedPlane, encrypted_plane
from tests.workflows.hand_worker import HandWorker, Task
from tests.workflows.workflow_site import WORKER, Handle, Site, failure

pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def encrypted() -> AsyncIterator[EncryptedPlane]:
    async with encrypted_plane() as plane:
        yield plane


async def _completed(client: Client, task: Task, payload: Payload) -> None:
    await client.workflow_service.respond_activity_task_completed(
        RespondActivityTaskCompletedRequest(
            namespace="dev", task_token=task.token, result=Payloads(payloads=[payload])
        )
    )


async def _failed(client: Client, task: Task, payload: Payload) -> None:
    info = ApplicationFailureInfo(
        type="EngineFailed", non_retryable=True, details=Payloads(payloads=[payload])
    )
    failed = Failure(message="x", encoded_attributes=payload, application_failure_info=info)
    await client.workflow_service.respond_activity_task_failed(
        RespondActivityTaskFailedRequest(namespace="dev", task_token=task.token, failure=failed)
    )


UNREADABLE = [
    Payload(metadata={"encoding": b"json/plain"}, data=b"{}"),
    Payload(metadata={"encoding": b"binary/made-up"}, data=b"x"),
    Payload(metadata={"encoding": b"binary/encrypted"}, data=b"x"),
    Payload(),
]


@pytest.mark.parametrize(("answer", "install"), [(_completed, "completed"), (_failed, "failed")])
async def test_what_cannot_be_read_fails_the_run(
    encrypted: EncryptedPlane, answer: Any, install: str
) -> None:
    site = Site(encrypted.client, install)
    encrypted.releases.inputs[site.app] = []
    worker: HandWorker = encrypted.install_worker(install)
    await site.begin()
    await worker.complete(await worker.take(), WORKER)
    for payload in UNREADABLE:
        run: Handle = await site.deploy()
        await answer(encrypted.client, await worker.take(), payload)
        error = await failure(run)
        assert error.type == ("BadAnswer" if answer is _completed else "EngineFailed")
        await site.holder(None)
