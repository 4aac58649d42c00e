"""A gateway with an org behind it, for all tests of a module."""

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio
from temporalio.client import Client

from gateway.enrolment.credentials import CredentialKey
from tests.gateway.enrolment.parts import NOW
from tests.gateway.enrolment_site import (
    Clock,
    Gateway,
    Org,
    Shared,
    controlled,
    gateway,
    temporal,
)
from tests.tls_certificates import make_certificate
from wire.enrolment.worker_identity import WorkerIdentity


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def client() -> AsyncIterator[Client]:
    async with temporal() as connected:
        yield connected


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def org(client: Client) -> AsyncIterator[Org]:
    async with controlled(client, Clock(NOW)) as found:
        await found.begin()
        yield found


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def shared(tmp_path_factory: pytest.TempPathFactory) -> Shared:
    folder = tmp_path_factory.mktemp("gateway")
    return Shared(CredentialKey.make(folder / "credentials.pem"), Clock(NOW))


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def door(
    org: Org, shared: Shared, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[Gateway]:
    certificate = make_certificate(tmp_path_factory.mktemp("tls"))
    async with gateway(org.client, shared, certificate) as found:
        yield found


@pytest.fixture
def worker() -> WorkerIdentity:
    return WorkerIdentity.generate()


@pytest.fixture
def subject(request: pytest.FixtureRequest) -> str:
    name: str = request.node.name.removeprefix("test_").partition("[")[0]
    return "install/" + name.replace("_", "-")[:60].strip("-")
