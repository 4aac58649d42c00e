"""The proxy's own answers, in front of a fake Temporal server."""

import gzip
from dataclasses import replace

import pytest
from grpc import StatusCode
from temporalio.api.namespace.v1 import NamespaceInfo
from temporalio.api.workflowservice.v1 import (
    DescribeNamespaceResponse,
    RespondActivityTaskCompletedRequest,
    RespondActivityTaskFailedRequest,
)

from gateway.bodies import MESSAGE_BYTES
from gateway.identity import Standing
from gateway.limits import Limits
from gateway.rpc import proxy
from tests.gateway.authority import Authority
from tests.gateway.gateway_parts import Credentials, Site
from tests.gateway.played_temporal import ACME, playing


async def test_temporal_sees_the_gateways_words_and_few_of_the_workers(
    authority: Authority,
) -> None:
    async with playing(authority) as (played, _, _, acme):
        await acme.start(
            "GetSystemInfo",
            headers={
                "client-name": "temporal-python",
                "temporal-namespace": "somebody-elses",
                "x-forwarded-for": "10.0.0.1",
            },
        )
        [(method, metadata)] = played.asked
        assert method.endswith("/GetSystemInfo")
        assert metadata["client-name"] == "temporal-python"
        assert metadata["temporal-namespace"] == "dev"
        assert not {"authorization", "x-forwarded-for"} & set(metadata)


async def test_the_gateways_own_credential_goes_to_temporal(authority: Authority) -> None:
    async with playing(authority) as (played, site, _, _):
        site.api_key = "the gateway's own"
        async with site.gateway() as with_key, with_key.channel("acme") as acme:
            await acme.start("GetSystemInfo")
        assert played.asked[-1][1]["authorization"] == "Bearer the gateway's own"


async def test_temporals_errors_arrive_with_their_details(authority: Authority) -> None:
    async with playing(authority) as (played, _, _, acme):
        played.refusal = (StatusCode.NOT_FOUND, "no such activity")
        played.trailers = (("grpc-status-details-bin", b"details"), ("secret-bin", b"secret"))
        call = acme.start("GetSystemInfo")
        assert (await call.code(), await call.details()) == played.refusal
        trailers = dict(await call.trailing_metadata() or ())
        assert trailers["grpc-status-details-bin"] == b"details"
        assert "secret-bin" not in trailers


@pytest.mark.parametrize("status", [StatusCode.UNAUTHENTICATED, StatusCode.PERMISSION_DENIED])
async def test_no_worker_ends_because_the_gateway_is_refused(
    authority: Authority, status: StatusCode, caplog: pytest.LogCaptureFixture
) -> None:
    async with playing(authority) as (played, _, _, acme):
        played.refusal = (status, "the gateway's key is old")
        said = await acme.status("PollActivityTaskQueue")
        assert said[0] is StatusCode.UNAVAILABLE
        assert "key is old" not in said[1]
        assert "refuses the gateway itself" in caplog.text


async def test_temporal_away_is_passing_trouble(authority: Authority) -> None:
    site = Site("127.0.0.1:1", authority, Credentials({"acme": ACME}))
    async with site.gateway() as gateway, gateway.channel("acme") as acme:
        status, why = await acme.status("PollActivityTaskQueue")
        assert status is StatusCode.UNAVAILABLE
        assert "127.0.0.1" not in why


async def test_deadlines_are_passed_on_and_bounded(authority: Authority) -> None:
    async with playing(authority) as (played, _, _, acme):
        await acme.start("GetSystemInfo", seconds=5)
        assert 0 < played.left <= 5
        await acme.start("GetSystemInfo", seconds=5000)
        assert 5 < played.left < 31
        await acme.start("PollActivityTaskQueue", seconds=5000)
        assert 31 < played.left < 76


async def test_a_poll_ends_at_temporal_when_its_worker_goes_away(authority: Authority) -> None:
    async with playing(authority) as (played, _, gateway, acme):
        played.holds = True
        poll = acme.start("PollActivityTaskQueue")
        await played.held.wait()
        assert gateway.door.allowances.polls == 1
        poll.cancel()
        await played.cancelled.wait()
        assert gateway.door.allowances.polls == 0


async def test_a_pause_ends_the_poll_at_temporal_and_holds_the_workers(
    authority: Authority, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with playing(authority) as (played, site, _, acme):
        played.holds = True
        poll = acme.start("PollActivityTaskQueue")
        await played.held.wait()
        monkeypatch.setattr(proxy, "HELD_SECONDS", 0.5)
        site.standings.set(ACME, Standing.PAUSED)
        await played.cancelled.wait()
        assert await poll == b""
        assert len(played.asked) == 1


async def test_a_message_over_its_limit_is_refused_in_words_that_the_sdk_knows(
    authority: Authority,
) -> None:
    async with playing(authority) as (played, _, gateway, acme):
        over = gzip.compress(bytes(MESSAGE_BYTES + 1))
        for rpc, body in (
            ("RespondActivityTaskCompleted", bytes(MESSAGE_BYTES + 1)),
            ("RespondActivityTaskCompleted", over),
            ("PollActivityTaskQueue", bytes(70_000)),
        ):
            status, why = await acme.status(rpc, body)
            assert status is StatusCode.RESOURCE_EXHAUSTED
            assert why.startswith("grpc: received message larger than max")
        assert not played.asked
        assert gateway.door.counters.denials.total() == 3


async def test_what_is_no_message_is_refused(authority: Authority) -> None:
    async with playing(authority) as (played, _, _, acme):
        status, why = await acme.status("RespondActivityTaskCompleted", b"\xff\xff")
        assert (status, why) == (
            StatusCode.INVALID_ARGUMENT,
            "the message is no RespondActivityTaskCompletedRequest",
        )
        assert not played.asked


async def test_compressed_messages_are_taken(authority: Authority) -> None:
    async with playing(authority) as (_, _, gateway, _), gateway.channel("acme") as acme:
        request = RespondActivityTaskCompletedRequest(task_token=b"made up" * 100)
        packed = gzip.compress(request.SerializeToString())
        status, why = await acme.status("RespondActivityTaskCompleted", packed)
        assert (status, why) == (
            StatusCode.PERMISSION_DENIED,
            "the task token cannot be used: it is none that this gateway knows",
        )


async def test_a_worker_learns_nothing_of_its_namespace_that_it_does_not_need(
    authority: Authority,
) -> None:
    async with playing(authority) as (played, _, _, acme):
        whole = DescribeNamespaceResponse(
            namespace_info=NamespaceInfo(
                name="dev", id="an-id", owner_email="vendor@example.com", data={"a": "secret"}
            )
        )
        whole.namespace_info.capabilities.worker_heartbeats = True
        whole.config.workflow_execution_retention_ttl.FromSeconds(1)
        played.answer = whole.SerializeToString()
        part = DescribeNamespaceResponse.FromString(await acme.start("DescribeNamespace"))
        expected = DescribeNamespaceResponse(namespace_info=NamespaceInfo(name="dev"))
        expected.namespace_info.capabilities.worker_heartbeats = True
        expected.namespace_info.limits.SetInParent()
        expected.poller_groups_info.SetInParent()
        assert part == expected


async def test_too_many_calls_are_slowed_down(authority: Authority) -> None:
    limits = Limits(calls_per_second=0.001, calls_at_once=2)
    async with playing(authority, limits) as (_, _, _, acme):
        assert [(await acme.status("GetSystemInfo"))[0] for _ in range(3)] == [
            StatusCode.OK,
            StatusCode.OK,
            StatusCode.RESOURCE_EXHAUSTED,
        ]


async def test_too_many_polls_are_not_held(authority: Authority) -> None:
    async with playing(authority, Limits(polls=1)) as (played, _, _, acme):
        played.holds = True
        first = acme.start("PollActivityTaskQueue")
        await played.held.wait()
        status, why = await acme.status("PollActivityTaskQueue")
        assert status is StatusCode.RESOURCE_EXHAUSTED
        assert "1 polls waiting" in why
        first.cancel()


async def test_an_expired_credential_ends_no_poll_that_waits(authority: Authority) -> None:
    async with playing(authority) as (played, site, _, acme):
        played.holds = True
        poll = acme.start("PollActivityTaskQueue")
        await played.held.wait()
        site.credentials.known["acme"] = replace(ACME, expires=1.0)
        assert (await acme.status("GetSystemInfo"))[0] is StatusCode.UNAVAILABLE
        assert not poll.done()
        poll.cancel()


async def test_an_expired_credential_has_to_be_renewed_and_a_revoked_one_is_denied(
    authority: Authority,
) -> None:
    """On any other answer an SDK worker drops its result and shuts down."""
    async with playing(authority) as (_, site, gateway, acme):
        site.credentials.known["acme"] = replace(ACME, expires=1.0)
        for rpc in ("PollActivityTaskQueue", "RespondActivityTaskCompleted", "NoSuchRpc"):
            status, why = await acme.status(rpc)
            assert status is StatusCode.UNAVAILABLE
            assert "has expired" in why
        site.standings.set(ACME, Standing.REVOKED)
        status, why = await acme.status("RespondActivityTaskCompleted")
        assert status is StatusCode.PERMISSION_DENIED
        assert "revoked" in why
        async with gateway.channel("no word that it knows") as nobody:
            assert (await nobody.status("GetSystemInfo"))[0] is StatusCode.UNAUTHENTICATED


async def test_two_credentials_are_none(authority: Authority) -> None:
    async with playing(authority) as (_, _, gateway, _), gateway.channel("acme") as acme:
        call = acme.start("GetSystemInfo", headers={"authorization": "Bearer acme"})
        assert await call.code() is StatusCode.UNAUTHENTICATED


async def test_the_first_call_of_a_connection_may_be_a_large_one(authority: Authority) -> None:
    """Its headers share a TLS record with the beginning of its message, which must fit into the
    budget of a caller who has proven nothing yet."""
    async with playing(authority) as (played, _, gateway, _):
        for size in (14_000, 17_000, 60_000, 1_000_000):
            request = RespondActivityTaskFailedRequest(identity="x" * size)
            async with gateway.channel("acme", alone=True) as worker:
                status, why = await worker.status("RespondActivityTaskFailed", request)
            # It was read completely, and is refused because of its content.
            assert status is StatusCode.PERMISSION_DENIED, why
            assert "task token" in why
        assert not played.asked
