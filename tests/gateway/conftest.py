"""One Temporal server, and one authority, for all tests of the gateway that need them."""

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio
from temporalio.client import Client

from tests.gateway.authority import Authority, make_authority
from tests.gateway.gateway_parts import Credentials, Site, temporal


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def server() -> AsyncIterator[Client]:
    async with temporal() as client:
        yield client


@pytest.fixture(scope="session")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return make_authority(tmp_path_factory.mktemp("authority"))


@pytest.fixture
def site(server: Client, authority: Authority) -> Site:
    """The settings of gateways in front of that server; a test adds credentials."""
    return Site(server.service_client.config.target_host, authority, Credentials({}))
