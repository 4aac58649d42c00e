"""Every RPC of Temporal, called by every kind of caller."""

import asyncio

import pytest
from google.protobuf.message import Message
from grpc import StatusCode
from temporalio.api.operatorservice.v1 import service_pb2 as operator
from temporalio.api.taskqueue.v1 import TaskQueue
from temporalio.api.workflowservice.v1 import (
    DescribeNamespaceRequest,
    PollActivityTaskQueueRequest,
    PollNexusTaskQueueRequest,
    RecordActivityTaskHeartbeatRequest,
    RegisterNamespaceRequest,
    RespondActivityTaskCanceledRequest,
    RespondActivityTaskCompletedRequest,
    RespondActivityTaskFailedRequest,
    RespondNexusTaskCompletedRequest,
)
from temporalio.api.workflowservice.v1 import service_pb2 as workflow
from temporalio.client import Client
from temporalio.service import RPCError

from gateway.front.limits import FrontLimits
from gateway.identity import Identity, Standing
from gateway.limits import Limits
from gateway.rpc.task_tokens import Purpose, TaskTokens
from tests.gateway.gateway_parts import SECRET, Calling, Gateway, Site, build, install

pytestmark = [pytest.mark.process, pytest.mark.asyncio(loop_scope="session")]

EVERY_RPC = [
    f"/{service.full_name}/{rpc.name}"
    for file in (workflow, operator)
    for service in file.DESCRIPTOR.services_by_name.values()
    for rpc in service.methods
]
POLL_SECONDS = 0.95
"""Temporal refuses a poll with a deadline below a second at once, instead of holding it."""

INSTALL = install("acme")
BUILD = build("elsewhere")
EXPIRED = install("late", expires=1.0)
REVOKED = install("gone")

# Temporal's own answers to these requests, which show that the gateway has let them through.
LET_THROUGH = {
    "GetSystemInfo": StatusCode.OK,
    "DescribeNamespace": StatusCode.OK,
    "PollActivityTaskQueue": StatusCode.FAILED_PRECONDITION,
    "PollNexusTaskQueue": StatusCode.FAILED_PRECONDITION,
    "RecordActivityTaskHeartbeat": StatusCode.INVALID_ARGUMENT,
    "RespondActivityTaskCompleted": StatusCode.INVALID_ARGUMENT,
    "RespondActivityTaskFailed": StatusCode.INVALID_ARGUMENT,
    "RespondActivityTaskCanceled": StatusCode.INVALID_ARGUMENT,
    "RespondNexusTaskCompleted": StatusCode.INVALID_ARGUMENT,
    "RecordWorkerHeartbeat": StatusCode.OK,
    "ShutdownWorker": StatusCode.OK,
}


async def test_these_are_all_of_them() -> None:
    assert len(EVERY_RPC) > 130
    assert {"WorkflowService", "OperatorService"} == {
        rpc.split("/")[1].split(".")[-1] for rpc in EVERY_RPC
    }


def requests(identity: Identity) -> dict[str, Message]:
    """The best requests that a caller can forge: another's names, and tokens sealed to itself."""

    def token(purpose: Purpose) -> bytes:
        return TaskTokens([SECRET]).seal(b"no token of Temporal's", identity, purpose)

    own_commands = TaskQueue(name=f"temporal-sys/worker-commands/{identity.org}/a-key")
    activity = token("activity")
    return {
        "DescribeNamespace": DescribeNamespaceRequest(namespace="default"),
        "PollActivityTaskQueue": PollActivityTaskQueueRequest(
            namespace="default", task_queue=TaskQueue(name="control")
        ),
        "PollNexusTaskQueue": PollNexusTaskQueueRequest(task_queue=own_commands),
        "RecordActivityTaskHeartbeat": RecordActivityTaskHeartbeatRequest(task_token=activity),
        "RespondActivityTaskCompleted": RespondActivityTaskCompletedRequest(task_token=activity),
        "RespondActivityTaskFailed": RespondActivityTaskFailedRequest(task_token=activity),
        "RespondActivityTaskCanceled": RespondActivityTaskCanceledRequest(task_token=activity),
        "RespondNexusTaskCompleted": RespondNexusTaskCompletedRequest(task_token=token("command")),
    }


async def answers(
    calling: Calling, identity: Identity, let_through: dict[str, StatusCode]
) -> dict[str, StatusCode]:
    """The answer of each RPC to a caller."""
    asked = requests(identity)
    # One after the other, so that no deadline passes because of the test's own load.
    polls = {
        rpc: (await calling.status(rpc, asked[name], POLL_SECONDS))[0]
        for rpc, name in ((rpc, rpc.rpartition("/")[2]) for rpc in EVERY_RPC)
        if name in let_through and name.startswith("Poll")
    }
    others = [rpc for rpc in EVERY_RPC if rpc not in polls]
    said = await asyncio.gather(
        *(calling.status(rpc, asked.get(rpc.rpartition("/")[2], b"")) for rpc in others)
    )
    return polls | {rpc: status for rpc, (status, _) in zip(others, said, strict=True)}


def expected(otherwise: StatusCode, let_through: dict[str, StatusCode]) -> dict[str, StatusCode]:
    service = "/temporal.api.workflowservice.v1.WorkflowService/"
    return {rpc: let_through.get(rpc.removeprefix(service), otherwise) for rpc in EVERY_RPC}


@pytest.mark.parametrize(
    ("identity", "otherwise", "let_through"),
    [
        (INSTALL, StatusCode.PERMISSION_DENIED, LET_THROUGH),
        (BUILD, StatusCode.PERMISSION_DENIED, LET_THROUGH),
        (REVOKED, StatusCode.PERMISSION_DENIED, {}),
        (EXPIRED, StatusCode.UNAVAILABLE, {}),
        (None, StatusCode.UNAUTHENTICATED, {}),
    ],
    ids=["an install worker", "a build worker of another org", "revoked", "expired", "nobody"],
)
async def test_every_rpc(
    site: Site,
    server: Client,
    identity: Identity | None,
    otherwise: StatusCode,
    let_through: dict[str, StatusCode],
) -> None:
    await register(server, "elsewhere")
    site.limits = Limits(calls_per_second=1e6, calls_at_once=1e6)
    # The gateway would close a stranger's connection before all were tried.
    site.front = FrontLimits(stranger_answers=1_000, stranger_call_bytes=16 * 1024 * 1024)
    if identity:
        site.credentials.known["word"] = identity
    site.standings.set(REVOKED, Standing.REVOKED)
    async with site.gateway() as gateway, gateway.channel("word" if identity else None) as calling:
        said = await answers(calling, identity or INSTALL, let_through)
        assert said == expected(otherwise, let_through)
        await everything_is_counted(gateway, let_through)


async def everything_is_counted(gateway: Gateway, let_through: dict[str, StatusCode]) -> None:
    counters = gateway.door.counters
    assert set(counters.calls) == set(let_through)
    assert counters.denials.total() == len(EVERY_RPC) - len(let_through)


async def register(server: Client, namespace: str) -> None:
    request = RegisterNamespaceRequest(namespace=namespace)
    request.workflow_execution_retention_period.FromSeconds(86400)
    try:
        await server.workflow_service.register_namespace(request)
    except RPCError as error:
        assert "already exists" in error.message.lower(), error
    await server.workflow_service.describe_namespace(DescribeNamespaceRequest(namespace=namespace))
