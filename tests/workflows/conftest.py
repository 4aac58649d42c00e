"""One Temporal server and one control worker for all tests of workflows; an install for each."""

import re
from collections.abc import AsyncIterator

import pytest
import pytest_asyncio
from temporalio.client import Client

from tests.workflows.workflow_plane import control_plane
from tests.workflows.workflow_site import FakeControl, Site


@pytest.fixture(scope="session")
def releases() -> FakeControl:
    return FakeControl()


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def client(releases: FakeControl) -> AsyncIterator[Client]:
    async with control_plane(releases) as connected:
        yield connected


@pytest.fixture
def install(request: pytest.FixtureRequest) -> str:
    """A name of the test's own."""
    name = re.sub(r"[^a-z0-9]+", "-", request.node.name.removeprefix("test_").lower())
    return str(name[:60].strip("-"))


@pytest_asyncio.fixture(loop_scope="session")
async def site(client: Client, releases: FakeControl, install: str) -> AsyncIterator[Site]:
    made = Site(client, install)
    releases.inputs[made.app] = []
    async with made.serving():
        yield made
