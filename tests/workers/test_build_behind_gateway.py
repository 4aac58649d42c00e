"""A build worker that knows only the gateway: it enrols, builds, pushes, and is revoked."""

import time
from collections.abc import AsyncIterator
from datetime import timedelta
from functools import partial
from pathlib import Path
from uuid import uuid4

import httpx
import pytest

from tests.workers.behind_gateway import gateway_settings, running  # isort: split

from temporalio.api.common.v1 import Payload
from temporalio.client import ActivityFailureError, Client
from temporalio.converter import WorkflowSerializationContext

from artifacts.layout import Layout
from artifacts.names import digest_of
from artifacts.registry import Registry
from artifacts.sources import push_source
from contracts.builds import CHECK, BuildInput, BuildResult, CheckSource, app_repository
from contracts.names import BUILD_QUEUE, CONTROL_QUEUE, SEARCH_ATTRIBUTES
from gateway.registry.app import registry_app
from stacks.enrolment import TOKEN_FILE, BuildEnrolment
from tests.artifacts.serving import served
from tests.gateway.enrolment_site import ORG, Org, controlled, enrolee, soon, temporal
from wire.connection import TemporalAddress, connect_once
from wire.encryption.codec import SUBJECT, Encryption
from wire.encryption.key_ring import KeyRing
from wire.encryption.key_settings import keys_for_worker
from wire.encryption.keys import MasterKeys, WorkerKeys
from wire.encryption.subjects import ACCESS
from wire.encryption.unreadable import is_unreadable
from wire.enrolment.credential import ByToken, Credentials, Enrolling
from wire.enrolment.worker_identity import WorkerIdentity
from wire.network.gateway_address import GatewayAddress
from wire.network.httpx_parts import Bearer

pytestmark = pytest.mark.process

ROOT = Path(__file__).resolve().parents[2]
SHOP = ROOT / "examples" / "shop"


@pytest.fixture
def master(tmp_path: Path) -> MasterKeys:
    keys = MasterKeys.new()
    keys.write(tmp_path / "keys.json")
    return keys


@pytest.fixture
async def org(tmp_path: Path, master: MasterKeys) -> AsyncIterator[Org]:
    async with temporal(attributes=SEARCH_ATTRIBUTES) as plain:
        address = plain.service_client.config.target_host
        client = await connect_once(TemporalAddress(address, ORG), KeyRing(master))
        handed = partial(keys_for_worker, ORG, file=tmp_path / "keys.json")
        async with controlled(client, time.time, payload_keys=handed) as found:
            yield found


def enrolment(folder: Path, port: int, ca: Path, org: Org) -> Path:
    """The files that the vendor has put on the build worker's machine."""
    made = BuildEnrolment.of(
        namespace=ORG,
        gateway=f"https://127.0.0.1:{port}",
        gateway_ca=ca.read_text(),
        control_key=org.authority.public,
    )
    folder.mkdir()
    (folder / TOKEN_FILE).write_text(org.token("build").render() + "\n")
    (folder / "enrolment.toml").write_text(made.render())
    assert BuildEnrolment.read(folder / "enrolment.toml") == made
    return folder / "enrolment.toml"


async def built(client: Client, source: str, number: int) -> BuildResult:
    found: BuildResult = await soon(
        client.execute_workflow(
            "Build",
            BuildInput(app="shop", source=source),
            id=f"build/shop/{number}",
            task_queue=CONTROL_QUEUE,
            result_type=BuildResult,
        )
    )
    return found


async def payloads_of(org: Org, run: str) -> tuple[list[Payload], list[Payload]]:
    """The payloads of the run itself and of its activities, as stored in Temporal."""
    own: list[Payload] = []
    activities: list[Payload] = []
    async for event in org.client.get_workflow_handle(run).fetch_history_events():
        own += event.workflow_execution_started_event_attributes.input.payloads
        own += event.workflow_execution_completed_event_attributes.result.payloads
        activities += event.activity_task_scheduled_event_attributes.input.payloads
        activities += event.activity_task_completed_event_attributes.result.payloads
    return own, activities


async def an_install_cannot_push(org: Org, gateway: GatewayAddress, folder: Path) -> None:
    """An enrolled install worker with a valid credential cannot push."""
    token = folder / "token"
    folder.mkdir()
    token.write_text(org.token("install/acme").render())
    who = enrolee(org, "install/acme", WorkerIdentity.generate(), gateway)
    credentials = Credentials(Enrolling(who, folder, ByToken(token)))
    await soon(credentials.start())
    uploads = f"/v2/{app_repository('shop')}/blobs/uploads/"
    manifest = f"/v2/{app_repository('shop')}/manifests/{digest_of(b'evil')}"
    async with httpx.AsyncClient(
        base_url=gateway.url, auth=Bearer(credentials), verify=gateway.context(), trust_env=False
    ) as client:
        assert (await client.get("/v2/")).status_code == 200
        for method, path in (("POST", uploads), ("PUT", manifest)):
            refused = await client.request(method, path, content=b"evil")
            assert refused.status_code == 405, refused.text
    await credentials.stop()


async def test_a_build_worker_s_life_behind_the_gateway(
    org: Org, master: MasterKeys, tmp_path: Path, unused_tcp_port: int
) -> None:
    layout = Layout(tmp_path / "registry")
    with served(registry_app(layout, writable=True)) as push, Registry(push) as vendor:
        source = push_source(vendor, SHOP)
    master.for_subject(ORG, ACCESS).write(tmp_path / "access.json")
    more = f'[artifacts]\nlayout = "{layout.root}"\n'
    settings = gateway_settings(tmp_path, unused_tcp_port, org.address, more)
    settings.write_text(f'payload_keys = ["access.json"]\n{settings.read_text()}')
    file = enrolment(tmp_path / "builder", unused_tcp_port, tmp_path / "ca.pem", org)
    data = tmp_path / "data"
    argv = ("workers.build", str(file), "--data", str(data))
    with running(tmp_path / "gateway.log", "workers.gateway_main", str(settings)) as gateway:
        await gateway.says("Serving at")
        with running(tmp_path / "build.log", *argv) as worker:
            await worker.says("This worker is enrolled as build of dev")
            await worker.says(f"Working on the queue build at 127.0.0.1:{unused_tcp_port}")
            release = (await built(org.client, source, 1)).release
            assert layout.repository(app_repository("shop")).manifest(release).data

            # The app's payloads stay the app's; the worker's key reads only its own tasks.
            own, activities = await payloads_of(org, "build/shop/1")
            assert {payload.metadata[SUBJECT] for payload in own} == {b"app/shop"}
            assert {payload.metadata[SUBJECT] for payload in activities} == {b"build"}
            keys = WorkerKeys.from_bytes(keys_for_worker(ORG, "build", tmp_path / "keys.json"))
            theirs = Encryption(KeyRing(master), ORG).with_context(
                WorkflowSerializationContext(namespace=ORG, workflow_id="deploy/acme/1")
            )
            secret = theirs.encrypt(Payload(metadata={"encoding": b"json/plain"}, data=b'"s"'))
            reading = Encryption(KeyRing(keys), ORG)
            assert not any(is_unreadable(reading.decrypt(one)) for one in activities)
            assert all(is_unreadable(reading.decrypt(one)) for one in [*own, secret])

            address = GatewayAddress.parse(
                f"https://127.0.0.1:{unused_tcp_port}", (tmp_path / "ca.pem").read_text()
            )
            await an_install_cannot_push(org, address, tmp_path / "acme")

            await org.update("revoke", "build")
            await gateway.says("is revoked now")
            with pytest.raises(ActivityFailureError):
                await check(org, source, seconds=1)
            await org.update("restore", "build")
            await check(org, source, seconds=60)
            worker.process.kill()
            worker.process.wait()
        # Its token is used up and not needed any more.
        (file.parent / TOKEN_FILE).unlink()
        with running(tmp_path / "again.log", *argv) as worker:
            await worker.says("Working on the queue build")
            assert (await built(org.client, source, 2)).reused
    enrolled = (await org.page()).subjects["build"].keys
    assert len(enrolled) == 1, "it came back with its key"
    logs = b"".join(log.read_bytes() for log in tmp_path.glob("*.log"))
    assert b"eyJ" not in logs, "no credential"


async def check(org: Org, source: str, seconds: float) -> None:
    """Run a check as a standalone activity on the build workers' queue."""
    await org.client.execute_activity(
        CHECK.name,
        CheckSource(app="shop", source=source),
        id=uuid4().hex,
        task_queue=BUILD_QUEUE,
        start_to_close_timeout=timedelta(seconds=60),
        heartbeat_timeout=timedelta(seconds=30),
        schedule_to_start_timeout=timedelta(seconds=seconds),
    )
