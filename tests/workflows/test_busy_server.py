"""Many installs begin at once on a server whose index answers few questions: none ends of it."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator

import pytest
import pytest_asyncio
from temporalio.client import Client, WorkflowExecutionStatus

from tests.workflows.workflow_plane import control_plane
from tests.workflows.workflow_site import FakeControl, Site, until

pytestmark = pytest.mark.asyncio(loop_scope="module")

INSTALLS = 100
AS_SHIPPED = {"frontend.namespaceRPS.visibility": "10"}
"""Of each namespace of a server as it ships; the development server sets 100 by itself."""


@pytest.fixture(scope="module")
def releases() -> FakeControl:
    return FakeControl()


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def client(releases: FakeControl) -> AsyncIterator[Client]:
    async with control_plane(releases, AS_SHIPPED) as connected:
        yield connected


async def test_as_many_as_there_may_be_begin_at_once(client: Client) -> None:
    sites = [Site(client, f"busy-{number}") for number in range(INSTALLS)]
    begun = await asyncio.gather(*(site.begin() for site in sites))

    async def look() -> bool:
        asked = [one.query("stack") for one in begun]
        answers = await asyncio.gather(*asked, return_exceptions=True)
        return not any(isinstance(one, BaseException) for one in answers)

    async def all_running() -> Counter[WorkflowExecutionStatus | None]:
        return Counter([(await one.describe()).status for one in begun])

    try:
        await until(look)
    finally:
        assert await all_running() == {WorkflowExecutionStatus.RUNNING: INSTALLS}
