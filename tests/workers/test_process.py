"""The life of a worker's process: refusals neither end it nor lose its results."""

import asyncio
import dataclasses
import logging
import os
import signal
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from datetime import timedelta
from uuid import uuid4

import pytest
from grpc import StatusCode
from temporalio import activity
from temporalio.client import ActivityHandle, Client
from temporalio.common import RetryPolicy
from temporalio.worker import PollerBehaviorSimpleMaximum, Worker

from contracts.names import install_queue
from tests.gateway.enrolment_site import ORG, soon, temporal
from tests.workers.relay import Relay
from wire import connection
from wire.connection import TemporalAddress
from workers import process
from workers.process import Settings, _Life

pytestmark = pytest.mark.process

MORE_THAN_THE_SDKS_TEN = 15


@activity.defn(name="greet")
async def greet(name: str) -> str:
    return f"hello {name}"


@pytest.fixture
async def server() -> AsyncIterator[Client]:
    async with temporal() as client:
        yield client


@pytest.fixture
async def relay(server: Client) -> AsyncIterator[Relay]:
    async with Relay(server.service_client.config.target_host).open() as found:
        yield found


@pytest.fixture
def hurried(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same attempts, without the waits between them."""
    logging.getLogger("workers.process").setLevel(logging.INFO)
    quick = dataclasses.replace(
        connection._PATIENT, initial_interval_millis=1, max_interval_millis=2
    )
    monkeypatch.setattr(connection, "_PATIENT", quick)
    monkeypatch.setattr(process, "delays", lambda: iter(lambda: 0.0, 1.0))


class Renewals:
    """A credential that counts its renewals."""

    token = "a credential"

    def __init__(self) -> None:
        self.count = 0

    def attach(self, client: Client) -> None:
        """Nothing to do."""

    async def renew(self) -> None:
        self.count += 1


@asynccontextmanager
async def living(
    where: TemporalAddress, queue: str, *activities: Callable[..., object]
) -> AsyncIterator["asyncio.Task[int]"]:
    """A worker in this process; its task returns the exit status."""

    def make(client: Client) -> Worker:
        return Worker(
            client,
            task_queue=queue,
            activities=list(activities),
            activity_task_poller_behavior=PollerBehaviorSimpleMaximum(1),
            graceful_shutdown_timeout=timedelta(days=1),
        )

    life = _Life(where, make, Settings())
    task = asyncio.create_task(life.live())
    try:
        yield task
    finally:
        life._leave.set()
        await soon(task)


async def start(client: Client, name: str = "greet") -> ActivityHandle[str]:
    return await client.start_activity(
        name,
        args=["acme"] if name == "greet" else [],
        id=uuid4().hex,
        task_queue=install_queue("acme"),
        result_type=str,
        start_to_close_timeout=timedelta(seconds=60),
        retry_policy=RetryPolicy(maximum_attempts=1),
    )


@pytest.mark.usefixtures("hurried")
async def test_a_result_outlives_more_refusals_than_the_sdk_has_tries(
    server: Client, relay: Relay
) -> None:
    """To the SDK, zero retries mean any number, which is not documented; and a client that a worker
    gets later keeps its own setting."""
    rpc = "RespondActivityTaskCompleted"
    relay.refusals[rpc] = (StatusCode.UNAVAILABLE, MORE_THAN_THE_SDKS_TEN)
    async with living(TemporalAddress(relay.address, ORG), install_queue("acme"), greet):
        assert await soon((await start(server)).result()) == "hello acme"
    assert relay.refusals[rpc] == (StatusCode.UNAVAILABLE, 0)


@pytest.mark.usefixtures("hurried")
@pytest.mark.parametrize("status", [StatusCode.UNAUTHENTICATED, StatusCode.PERMISSION_DENIED])
async def test_who_is_refused_renews_its_credential_and_goes_on_in_the_same_process(
    server: Client, relay: Relay, status: StatusCode, caplog: pytest.LogCaptureFixture
) -> None:
    """The SDK ends a worker on a refusal; at once, if the refusal comes before it begins."""
    relay.refusals["DescribeNamespace"] = (status, 6)
    credential = Renewals()
    where = TemporalAddress(relay.address, ORG, credential=credential)
    async with living(where, install_queue("acme"), greet) as task:
        assert await soon((await start(server)).result()) == "hello acme"
        assert not task.done()
    assert task.result() == 0
    assert credential.count >= 2
    assert "refused by the test" in caplog.text


@pytest.mark.usefixtures("hurried")
async def test_without_a_credential_it_goes_on_too(server: Client, relay: Relay) -> None:
    """A control worker reaches Temporal without such a credential."""
    relay.refusals["DescribeNamespace"] = (StatusCode.PERMISSION_DENIED, 6)
    async with living(TemporalAddress(relay.address, ORG), install_queue("acme"), greet) as task:
        assert await soon((await start(server)).result()) == "hello acme"
    assert task.result() == 0


@pytest.mark.usefixtures("hurried")
async def test_the_second_signal_does_not_wait_for_a_control_plane_that_is_away(
    server: Client, relay: Relay, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(process, "_LAST_RESULTS_SECONDS", 0.0)
    rpc = "RespondActivityTaskCompleted"
    relay.refusals[rpc] = (StatusCode.UNAVAILABLE, 1_000_000)
    async with living(TemporalAddress(relay.address, ORG), install_queue("acme"), greet) as task:
        await start(server)
        async with asyncio.timeout(60):
            while relay.refusals[rpc][1] > 1_000_000 - MORE_THAN_THE_SDKS_TEN:
                await asyncio.sleep(0.01)
        os.kill(os.getpid(), signal.SIGTERM)
        await logged(caplog, "Draining")
        assert not task.done(), "the result is still sent"
        os.kill(os.getpid(), signal.SIGTERM)
        assert await soon(task) == 0
    assert "has not accepted every result" in caplog.text


async def logged(caplog: pytest.LogCaptureFixture, words: str) -> None:
    async with asyncio.timeout(60):
        while words not in caplog.text:
            await asyncio.sleep(0.01)


def test_a_fault_of_its_own_is_no_refusal() -> None:
    """Such a process must end, since its state is unknown."""
    refused, fault = RuntimeError("Activity worker failed"), RuntimeError("Activity worker failed")
    refused.__cause__ = RuntimeError("Poll failure: Status { code: Unauthenticated }")
    fault.__cause__ = KeyError("task_token")
    assert process._is_refusal(refused)
    assert not process._is_refusal(fault)
