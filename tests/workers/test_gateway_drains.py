"""The real gateway's process gets a signal to end while an answer is passing through it."""

import asyncio
import signal
import time
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from datetime import timedelta
from pathlib import Path

import pytest

from tests.workers.behind_gateway import gateway_settings, running  # isort: split

from temporalio import activity
from temporalio.client import ActivityExecutionStatus, ActivityHandle
from temporalio.common import RetryPolicy
from temporalio.worker import PollerBehaviorSimpleMaximum, Worker

from activities.access.activities import no_payload_keys
from contracts.names import install_queue
from tests.gateway.enrolment_site import ORG, Org, controlled, enrolee, soon, temporal
from wire.connection import TemporalAddress, connect
from wire.enrolment.credential import ByToken, Credentials, Enrolling
from wire.enrolment.worker_identity import WorkerIdentity
from wire.network.gateway_address import GatewayAddress

pytestmark = pytest.mark.process

ANSWER = "what it came to " * 4096
"""More bytes than anything else that a quiet gateway sends to Temporal in this time."""


class Wire:
    """Passes connections on to the first target that accepts them; can hold back what is sent."""

    def __init__(self, *targets: str) -> None:
        self._targets = [target.rpartition(":") for target in targets]
        self._pumping: set[asyncio.Task[None]] = set()
        self._flows = asyncio.Event()
        self._flows.set()
        self._held = 0
        self.holds_the_answer = asyncio.Event()

    def hold(self) -> None:
        """From now on, nothing more reaches the target; what it sends still passes."""
        self._held = 0
        self._flows.clear()

    def release(self) -> None:
        """Let everything pass again."""
        self._flows.set()

    @asynccontextmanager
    async def open(self) -> AsyncIterator[str]:
        server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        try:
            yield f"127.0.0.1:{server.sockets[0].getsockname()[1]}"
        finally:
            server.close()
            for task in self._pumping:
                task.cancel()
            await asyncio.gather(*self._pumping, return_exceptions=True)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        for host, _, port in self._targets:
            try:
                far_reader, far_writer = await asyncio.open_connection(host, int(port))
                break
            except OSError:
                continue
        else:
            writer.close()
            return
        for one, other, outward in ((reader, far_writer, True), (far_reader, writer, False)):
            task = asyncio.create_task(self._pump(one, other, outward))
            self._pumping.add(task)
            task.add_done_callback(self._pumping.discard)

    async def _pump(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, outward: bool
    ) -> None:
        waiting = bytearray()
        reading: asyncio.Task[bytes] | None = None
        try:
            while True:
                reading = reading or asyncio.create_task(reader.read(65536))
                flowing = asyncio.create_task(self._flows.wait())
                wanted = {reading, flowing} if waiting else {reading}
                await asyncio.wait(wanted, return_when=asyncio.FIRST_COMPLETED)
                flowing.cancel()
                ended = False
                if reading.done():
                    piece, reading = reading.result(), None
                    ended = not piece
                    waiting += piece
                    if outward and not self._flows.is_set():
                        self._count(len(piece))
                if self._flows.is_set() or not outward:
                    writer.write(bytes(waiting))
                    waiting.clear()
                    await writer.drain()
                if ended:
                    return
        except ConnectionError:
            # Either side may disconnect at any time; the other one notices by the close below.
            return
        finally:
            if reading is not None:
                reading.cancel()
            writer.close()

    def _count(self, size: int) -> None:
        self._held += size
        if self._held >= len(ANSWER):
            self.holds_the_answer.set()


@activity.defn(name="answer")
async def answer() -> str:
    return ANSWER


@pytest.fixture
async def org() -> AsyncIterator[Org]:
    async with (
        temporal() as client,
        controlled(client, time.time, payload_keys=no_payload_keys) as found,
    ):
        yield found


@asynccontextmanager
async def working(org: Org, gateway: GatewayAddress, folder: Path) -> AsyncIterator[None]:
    """An install worker, enrolled at the gateway, with an activity of this test."""
    folder.mkdir()
    token = folder / "token"
    token.write_text(org.token("install/acme").render())
    who = enrolee(org, "install/acme", WorkerIdentity.open(folder), gateway)
    credentials = Credentials(Enrolling(who, folder, ByToken(token)))
    await soon(credentials.start())
    where = TemporalAddress(gateway.target, ORG, gateway.tls(), credentials)
    worker = Worker(
        await soon(connect(where)),
        task_queue=install_queue("acme"),
        activities=[answer],
        activity_task_poller_behavior=PollerBehaviorSimpleMaximum(1),
    )
    worker.client = await soon(connect(where, patient=True))
    try:
        async with worker:
            yield
    finally:
        await credentials.stop()


async def started(org: Org, name: str) -> ActivityHandle[str]:
    return await org.client.start_activity(
        "answer",
        id=name,
        task_queue=install_queue("acme"),
        result_type=str,
        start_to_close_timeout=timedelta(seconds=60),
        retry_policy=RetryPolicy(maximum_attempts=1),
    )


async def test_an_answer_on_its_way_arrives_while_the_worker_goes_elsewhere(
    org: Org, tmp_path: Path, unused_tcp_port_factory: object
) -> None:
    assert callable(unused_tcp_port_factory)
    ports = [unused_tcp_port_factory() for _ in range(2)]
    to_temporal = Wire(org.address)
    balancer = Wire(*(f"127.0.0.1:{port}" for port in ports))
    async with AsyncExitStack() as stack:
        relay = await stack.enter_async_context(to_temporal.open())
        one = gateway_settings(tmp_path, ports[0], relay)
        other = tmp_path / "other.toml"
        text = one.read_text().replace(str(ports[0]), str(ports[1]))
        other.write_text(text.replace(relay, org.address))
        leaving, staying = (
            stack.enter_context(
                running(path.with_suffix(".log"), "workers.gateway_main", str(path))
            )
            for path in (one, other)
        )
        await asyncio.gather(leaving.says("Serving at"), staying.says("Serving at"))
        address = await stack.enter_async_context(balancer.open())
        gateway = GatewayAddress.parse(f"https://{address}", (tmp_path / "ca.pem").read_text())
        await stack.enter_async_context(working(org, gateway, tmp_path / "worker"))
        assert await soon((await started(org, "before")).result()) == ANSWER

        to_temporal.hold()
        held = await started(org, "held")
        await soon(to_temporal.holds_the_answer.wait())
        leaving.process.send_signal(signal.SIGTERM)
        await leaving.says("leaving")
        # Its polls are answered, so the worker polls elsewhere while the answer still waits.
        assert await soon((await started(org, "elsewhere")).result()) == ANSWER
        assert leaving.process.poll() is None, "it waits for what is on its way"
        # If it had been cut off, it would have been sent again through the other gateway by now.
        assert (await held.describe()).status is ActivityExecutionStatus.RUNNING
        to_temporal.release()
        assert await soon(held.result()) == ANSWER
        assert await soon(asyncio.to_thread(leaving.process.wait)) == 0
        assert staying.process.poll() is None
