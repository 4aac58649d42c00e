"""A renewed credential reaches a Temporal client that is already connected."""

import asyncio
import socket
from pathlib import Path

import pytest
from temporalio.api.workflowservice.v1 import DescribeNamespaceRequest

from gateway.door import Door, DoorSettings
from gateway.enrolment.access import AccessOfOrgs
from gateway.enrolment.credentials import CredentialKey, GatewayCredentials
from gateway.enrolment.routes import Enrolment
from gateway.identity import Identity
from gateway.rpc.upstream import TemporalFrontend
from tests.gateway.enrolment_site import ORG, Shared, controlled, enrolee, soon, temporal, watching
from wire.connection import TemporalAddress, connect_once
from wire.enrolment.credential import ByToken, Credentials, Enrolling
from wire.enrolment.worker_identity import WorkerIdentity
from wire.network.gateway_address import GatewayAddress

pytestmark = pytest.mark.process


class Seeing:
    """The gateway's own authenticator, which also records what it was given."""

    def __init__(self, credentials: GatewayCredentials) -> None:
        self._credentials = credentials
        self.seen: list[str] = []

    def authenticate(self, authorization: str | None) -> Identity:
        self.seen.append(authorization or "")
        return self._credentials.authenticate(authorization)


async def test_a_connected_client_shows_each_new_credential(tmp_path: Path) -> None:
    due = asyncio.Event()
    now = 0.0

    async def sleep(_: float) -> None:
        await due.wait()
        due.clear()

    async with temporal() as client, controlled(client, lambda: 1_800_000_000.0) as org:
        await org.begin()
        key = CredentialKey.make(tmp_path / "key.pem")
        shared = Shared(key, clock=lambda: 1_800_000_000.0)  # type: ignore[arg-type]
        credentials = GatewayCredentials([key], clock=shared.clock)
        listener = socket.create_server(("127.0.0.1", 0))
        gateway = GatewayAddress.parse(f"http://127.0.0.1:{listener.getsockname()[1]}")
        frontend = TemporalFrontend(client.service_client.config.target_host)
        async with watching(client) as watch:
            access = AccessOfOrgs([watch])
            seeing = Seeing(credentials)
            routes = Enrolment(access, credentials, clock=shared.clock).routes()
            door = Door(DoorSettings(frontend, [b"s" * 32]), seeing, access, routes)
            await door.open(listener)
            who = enrolee(org, "install/acme", WorkerIdentity.generate(), gateway)
            (tmp_path / "token").write_text(org.token("install/acme").render())
            worker = Credentials(
                Enrolling(who, tmp_path, ByToken(tmp_path / "token")),
                elapsed=lambda: now,
                sleep=sleep,
            )
            await soon(worker.start())
            where = TemporalAddress(gateway.target, ORG, credential=worker)
            connected = await soon(connect_once(where))
            first = worker.token
            assert set(seeing.seen) == {f"Bearer {first}"}

            shared.clock = lambda: 1_800_000_001.0  # type: ignore[assignment]
            credentials._clock = shared.clock
            now += 3600
            due.set()
            while worker.token == first:
                await asyncio.sleep(0.01)
            seeing.seen.clear()
            request = DescribeNamespaceRequest(namespace=ORG)
            await soon(connected.workflow_service.describe_namespace(request))
            assert seeing.seen == [f"Bearer {worker.token}"]
            await worker.stop()
            await door.close(0)
