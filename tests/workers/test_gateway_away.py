"""The gateway is away for longer than credentials live, and nothing has to be restarted."""

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from datetime import timedelta
from pathlib import Path
from uuid import uuid4

import pytest

# First, since it sets up the modules of the gateway's tests.
from tests.workers.behind_gateway import gateway_settings, running  # isort: split

from temporalio import activity
from temporalio.common import RetryPolicy

from activities.access.activities import no_payload_keys
from contracts.names import BUILD_QUEUE, install_queue
from stacks.enrolment import TOKEN_FILE, BuildEnrolment
from tests.gateway.enrolment_site import ORG, Org, controlled, enrolee, soon, temporal
from tests.workers.test_process import living
from tests.workers.test_worker_behind_gateway import describe, stack
from wire.connection import TemporalAddress
from wire.enrolment.credential import ByToken, Credentials, Enrolling
from wire.enrolment.worker_identity import WorkerIdentity
from wire.network.gateway_address import GatewayAddress

pytestmark = [pytest.mark.process, pytest.mark.long]

LIFE_SECONDS = 6
AWAY_SECONDS = 75
"""More than the 60 s for which the SDK retries a poll that is refused for good."""


@pytest.fixture
async def org() -> AsyncIterator[Org]:
    async with (
        temporal() as client,
        controlled(client, time.time, payload_keys=no_payload_keys) as found,
    ):
        yield found


class Long:
    """An activity that ends when the test says so."""

    def __init__(self) -> None:
        self.began = asyncio.Event()
        self.end = asyncio.Event()

    @activity.defn(name="long")
    async def run(self) -> str:
        self.began.set()
        while not self.end.is_set():
            activity.heartbeat()
            await asyncio.wait([asyncio.ensure_future(self.end.wait())], timeout=1)
        return "done"


def build_stack(folder: Path, gateway: str, ca: Path, org: Org) -> Path:
    enrolment = BuildEnrolment(
        namespace=ORG,
        gateway=f"https://{gateway}",
        gateway_ca=ca.read_text(),
        control_key=org.authority.public,
    )
    folder.mkdir()
    (folder / "enrolment.toml").write_text(enrolment.render())
    (folder / TOKEN_FILE).write_text(org.token("build").render() + "\n")
    return folder / "enrolment.toml"


async def polled(org: Org, queue: str) -> None:
    """Whether a worker takes a task from the queue and refuses it as unknown."""
    handle = await org.client.start_activity(
        "nobody.knows.it",
        id=uuid4().hex,
        task_queue=queue,
        start_to_close_timeout=timedelta(seconds=20),
        retry_policy=RetryPolicy(maximum_attempts=1),
    )
    with pytest.raises(Exception, match="failed"):
        await soon(handle.result())


async def test_workers_wait_renew_and_go_on_and_a_finished_result_arrives(
    org: Org, tmp_path: Path, unused_tcp_port: int
) -> None:
    settings = gateway_settings(tmp_path, unused_tcp_port, org.address)
    at, ca = f"127.0.0.1:{unused_tcp_port}", tmp_path / "ca.pem"
    serve = ("tests.workers.short_credentials", str(LIFE_SECONDS), str(settings))
    long = Long()

    async with AsyncExitStack() as those:
        with running(tmp_path / "gateway.log", *serve) as gateway:
            await gateway.says("Serving at")
            idle = those.enter_context(
                running(
                    tmp_path / "idle.log",
                    "workers.exclave_worker",
                    str(stack(tmp_path / "stack", at, ca, org)),
                    "--data",
                    str(tmp_path / "data"),
                )
            )
            builds = those.enter_context(
                running(
                    tmp_path / "build.log",
                    "workers.build",
                    str(build_stack(tmp_path / "build", at, ca, org)),
                    "--data",
                    str(tmp_path / "build-data"),
                )
            )
            where = await busy(org, GatewayAddress.parse(f"https://{at}", ca.read_text()), tmp_path)
            life = await those.enter_async_context(living(where, install_queue("busy"), long.run))
            for worker in (idle, builds):
                await worker.says("Working on the queue")
            handle = await org.client.start_activity(
                "long",
                id=uuid4().hex,
                task_queue=install_queue("busy"),
                result_type=str,
                start_to_close_timeout=timedelta(seconds=600),
                heartbeat_timeout=timedelta(seconds=300),
                retry_policy=RetryPolicy(maximum_attempts=1),
            )
            await soon(long.began.wait())
            gateway.process.kill()
            gateway.process.wait()
        # Half of the time, work is running; the other half, its result cannot be delivered.
        await asyncio.sleep(AWAY_SECONDS / 2)
        long.end.set()
        await asyncio.sleep(AWAY_SECONDS / 2)
        again = those.enter_context(running(tmp_path / "again.log", *serve))
        await again.says("Serving at")

        assert await soon(handle.result()) == "done"
        assert (await describe(org)).protocol
        await polled(org, BUILD_QUEUE)
        await polled(org, install_queue("busy"))
        for worker in (idle, builds):
            assert worker.process.poll() is None
            assert worker.log.read_text().count("Working on the queue") == 1, "it never ended"
        assert not life.done()


async def busy(org: Org, gateway: GatewayAddress, folder: Path) -> TemporalAddress:
    """How a worker in this process reaches the gateway."""
    token = folder / "busy-token"
    token.write_text(org.token("install/busy").render())
    keys = folder / "busy"
    keys.mkdir()
    who = enrolee(org, "install/busy", WorkerIdentity.open(keys), gateway)
    credentials = Credentials(Enrolling(who, keys, ByToken(token)))
    await soon(credentials.start())
    return TemporalAddress(gateway.target, ORG, gateway.tls(), credentials)
