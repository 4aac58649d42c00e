"""For tests of commands: Temporal, a control worker, and an install with a fake worker."""

import re
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio
from temporalio.client import Client

from tests.exclave.commands.typing_person import LoggingWorker, Person
from tests.workflows.workflow_plane import control_plane
from tests.workflows.workflow_site import RELEASE, FakeControl, Site


@pytest.fixture(scope="session")
def control() -> FakeControl:
    return FakeControl()


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def client(control: FakeControl) -> AsyncIterator[Client]:
    async with control_plane(control) as connected:
        yield connected


@pytest.fixture
def install(request: pytest.FixtureRequest) -> str:
    """A name that only this test uses."""
    name = re.sub(r"[^a-z0-9]+", "-", request.node.name.removeprefix("test_").lower())
    return str(name[:60].strip("-"))


@pytest.fixture
def person(client: Client, tmp_path: Path) -> Person:
    """Somebody at a shell that is set up for the test's Temporal server."""
    return Person(client.service_client.config.target_host, tmp_path)


@pytest_asyncio.fixture(loop_scope="session")
async def site(client: Client, control: FakeControl, install: str) -> AsyncIterator[Site]:
    """An install that has begun, and its worker."""
    made = Site(client, install)
    made.worker = LoggingWorker()
    control.inputs[made.app] = []
    async with made.serving():
        await made.begin(release=RELEASE)
        await made.knows_its_inputs()
        yield made
