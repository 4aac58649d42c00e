"""What the owner of one install's worker might try: to block all others, and to send more than a
worker may."""

import asyncio
from collections.abc import AsyncIterator

import grpc
import pytest
from grpc import StatusCode, aio
from temporalio.api.taskqueue.v1 import TaskQueue
from temporalio.api.worker.v1 import WorkerHeartbeat
from temporalio.api.workflowservice.v1 import (
    GetSystemInfoRequest,
    PollActivityTaskQueueRequest,
    PollNexusTaskQueueRequest,
    RecordWorkerHeartbeatRequest,
)

from gateway.limits import Limits
from gateway.rpc import proxy
from gateway.rpc.policy import COMMANDS_PREFIX, WORKFLOW_SERVICE
from tests.gateway.authority import Authority
from tests.gateway.gateway_parts import Gateway
from tests.gateway.played_temporal import playing


class Slow:
    """Calls whose messages do not arrive until the test lets them."""

    def __init__(self, channel: aio.Channel) -> None:
        self._method: aio.StreamUnaryMultiCallable[bytes, bytes] = channel.stream_unary(
            WORKFLOW_SERVICE + "GetSystemInfo"
        )
        self.come = asyncio.Event()

    def start(self, word: str) -> "aio.StreamUnaryCall[bytes, bytes]":
        async def message() -> AsyncIterator[bytes]:
            await self.come.wait()
            yield b""

        metadata = [("authorization", f"Bearer {word}")]
        return self._method(message(), metadata=metadata)


def channel_to(gateway: Gateway) -> aio.Channel:
    assert gateway.authority
    trusted = grpc.ssl_channel_credentials(gateway.authority.pem)
    return aio.secure_channel(gateway.address, trusted)


async def test_messages_that_do_not_come_hold_up_their_sender_alone(authority: Authority) -> None:
    async with (
        playing(authority, Limits(bodies=2)) as (played, _, gateway, acme),
        gateway.channel("other") as other,
        channel_to(gateway) as channel,
    ):
        slow = Slow(channel)
        calls = [slow.start("acme") for _ in range(5)]
        await asyncio.gather(*(call.wait_for_connection() for call in calls))
        assert (await acme.status("GetSystemInfo", seconds=0.5))[0] is StatusCode.DEADLINE_EXCEEDED
        assert (await other.status("GetSystemInfo"))[0] is StatusCode.OK
        assert len(played.asked) == 1
        slow.come.set()
        assert await asyncio.gather(*calls) == [b""] * 5
        assert (await acme.status("GetSystemInfo"))[0] is StatusCode.OK


async def test_a_message_that_does_not_come_is_not_waited_for(
    authority: Authority, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(proxy, "BODY_SECONDS", 0.1)
    async with (
        playing(authority, Limits(bodies=1)) as (played, _, gateway, acme),
        channel_to(gateway) as channel,
    ):
        call = Slow(channel).start("acme")
        assert await call.code() is StatusCode.UNAVAILABLE
        assert "took over 0.1 s to arrive" in (await call.details() or "")
        assert not played.asked
        assert (await acme.status("GetSystemInfo"))[0] is StatusCode.OK


async def test_only_so_many_messages_are_in_memory(authority: Authority) -> None:
    async with (
        playing(authority, Limits(bodies=2)) as (played, _, gateway, acme),
        gateway.channel("other") as other,
    ):
        played.holds = True
        calls = [acme.start("GetSystemInfo") for _ in range(5)]
        while len(played.asked) < 2:
            await asyncio.sleep(0.01)
        theirs = other.start("GetSystemInfo")
        while len(played.asked) < 3:
            await asyncio.sleep(0.01)
        assert not any(call.done() for call in calls)
        for call in (*calls, theirs):
            call.cancel()


async def test_a_flood_of_bytes_is_slowed_down(authority: Authority) -> None:
    limits = Limits(bytes_per_second=0.001, bytes_at_once=100)
    async with (
        playing(authority, limits) as (_, _, gateway, acme),
        gateway.channel("other") as other,
    ):
        request = PollActivityTaskQueueRequest(identity="x" * 60)
        assert (await acme.status("PollActivityTaskQueue", request))[0] is StatusCode.OK
        status, why = await acme.status("PollActivityTaskQueue", request)
        assert status is StatusCode.RESOURCE_EXHAUSTED
        assert "limits.bytes_per_second" in why
        assert (await other.status("PollActivityTaskQueue", request))[0] is StatusCode.OK


def commands_of(key: str) -> PollNexusTaskQueueRequest:
    return PollNexusTaskQueueRequest(task_queue=TaskQueue(name=f"{COMMANDS_PREFIX}dev/{key}"))


def described(key: str, name: str = "") -> RecordWorkerHeartbeatRequest:
    heartbeat = WorkerHeartbeat(worker_instance_key=key, sdk_name=name)
    return RecordWorkerHeartbeatRequest(worker_heartbeat=[heartbeat])


async def test_nobody_fills_temporals_memory_with_made_up_processes(authority: Authority) -> None:
    """For each key, Temporal keeps a queue of 0.3 MB, or a description for a day."""
    limits = Limits(keys_per_second=0.001, keys_at_once=2)
    async with playing(authority, limits) as (played, _, gateway, acme):
        assert (await acme.status("PollNexusTaskQueue", commands_of("a")))[0] is StatusCode.OK
        assert (await acme.status("RecordWorkerHeartbeat", described("b")))[0] is StatusCode.OK
        for rpc, request in (
            ("PollNexusTaskQueue", commands_of("c")),
            ("RecordWorkerHeartbeat", described("c")),
            ("PollActivityTaskQueue", PollActivityTaskQueueRequest(worker_instance_key="c")),
        ):
            status, why = await acme.status(rpc, request)
            assert status is StatusCode.RESOURCE_EXHAUSTED
            assert "started too many processes" in why
        assert len(played.asked) == 2
        for _ in range(3):
            assert (await acme.status("PollNexusTaskQueue", commands_of("a")))[0] is StatusCode.OK
        async with gateway.channel("other") as other:
            assert (await other.status("PollNexusTaskQueue", commands_of("c")))[0] is StatusCode.OK


async def test_a_worker_is_described_in_few_words(authority: Authority) -> None:
    async with playing(authority) as (played, _, _, acme):
        status, _ = await acme.status("RecordWorkerHeartbeat", described("a", "x" * 10_000))
        assert status is StatusCode.PERMISSION_DENIED
        assert not played.asked


@pytest.mark.parametrize(
    "path",
    [
        WORKFLOW_SERVICE + "GetSystemInfo/",
        WORKFLOW_SERVICE + "GetSystemInfo?x",
        WORKFLOW_SERVICE + "GetSystemInfo\t",
        WORKFLOW_SERVICE + "getSystemInfo",
        WORKFLOW_SERVICE + "%47etSystemInfo",
        "/" + WORKFLOW_SERVICE + "StartWorkflowExecution",
        "/x/.." + WORKFLOW_SERVICE + "StartWorkflowExecution",
        "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo",
        "/grpc.health.v1.Health/Check",
        "/temporal.server.api.adminservice.v1.AdminService/DescribeMutableState",
        "/temporal.server.api.matchingservice.v1.MatchingService/PollActivityTaskQueue",
    ],
)
async def test_a_method_is_taken_by_its_exact_name(authority: Authority, path: str) -> None:
    async with playing(authority) as (played, _, _, acme):
        assert (await acme.status(path))[0] is StatusCode.PERMISSION_DENIED
        assert not played.asked


async def test_headers_do_not_choose_who_calls_or_where(authority: Authority) -> None:
    async with (
        playing(authority) as (played, _, gateway, acme),
        gateway.channel(None) as nobody,
    ):
        for headers in (
            {"authorization": ""},
            {"authorization": "Bearer other, Bearer acme"},
            {"x-authorization": "Bearer acme"},
            {"proxy-authorization": "Bearer acme"},
        ):
            call = nobody.start("GetSystemInfo", headers=headers)
            assert await call.code() is StatusCode.UNAUTHENTICATED
        assert not played.asked
        named: dict[str, str | bytes] = {
            "temporal-namespace": "other", "temporal-namespace-bin": b"other",
            "x-forwarded-for": "127.0.0.1", "caller-type": "operator", "authorization-extras": "x",
            "grpc-timeout-bin": b"1",
        }  # fmt: skip
        await acme.start("GetSystemInfo", headers=named)
        [(_, seen)] = played.asked
        assert seen.pop("temporal-namespace") == "dev"
        assert not seen.keys() & {*named, "authorization"}


async def test_fields_that_the_gateway_does_not_know_go_no_further(authority: Authority) -> None:
    unknown = b"\xfa\xff\x01\x05other"  # field 4095, of bytes
    async with playing(authority) as (played, _, _, acme):
        queue = PollActivityTaskQueueRequest(task_queue=TaskQueue(name="install.other"))
        nested = b"\x12" + bytes([len(unknown)]) + unknown  # within task_queue
        for body in (
            queue.SerializeToString() + unknown,
            # When a field occurs twice, messages are merged, and of other values the last counts.
            queue.SerializeToString() * 2 + nested,
        ):
            await acme.start("PollActivityTaskQueue", body)
            assert b"other" not in played.bodies[-1]
            sent = PollActivityTaskQueueRequest.FromString(played.bodies[-1])
            assert sent.task_queue.name == "install.acme"
        await acme.start("GetSystemInfo", unknown)
        assert played.bodies[-1] == GetSystemInfoRequest().SerializeToString()


async def test_a_message_that_is_nested_without_end_is_refused(authority: Authority) -> None:
    """A failure may have a cause, which is a failure itself."""
    nested = b""
    for _ in range(5_000):
        size, length = len(nested), b""
        while size > 0x7F:
            length, size = length + bytes([size & 0x7F | 0x80]), size >> 7
        nested = b"\x22" + length + bytes([size]) + nested
    size, length = len(nested), b""
    while size > 0x7F:
        length, size = length + bytes([size & 0x7F | 0x80]), size >> 7
    async with playing(authority) as (played, _, _, acme):
        body = b"\x12" + length + bytes([size]) + nested
        status, _ = await acme.status("RespondActivityTaskFailed", body)
        assert status is StatusCode.INVALID_ARGUMENT
        assert not played.asked
