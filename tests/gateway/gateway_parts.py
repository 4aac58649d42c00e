"""A gateway for tests: the real one, with credentials and standings that a test can set."""

import asyncio
import gc
import sys
import time
from collections import defaultdict
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import grpc
from google.protobuf.message import Message
from grpc import aio
from starlette.routing import Route
from temporalio.api.taskqueue.v1 import TaskQueue
from temporalio.api.workflowservice.v1 import (
    PollActivityTaskQueueRequest,
    PollActivityTaskQueueResponse,
)
from temporalio.client import Client, TLSConfig
from temporalio.testing import WorkflowEnvironment

from gateway.door import Door, DoorSettings
from gateway.front.certificates import Certificate
from gateway.front.limits import FrontLimits
from gateway.front.listening import listen
from gateway.identity import Expired, Identity, Standing, Unauthenticated
from gateway.limits import Limits
from gateway.rpc.policy import WORKFLOW_SERVICE
from gateway.rpc.upstream import TemporalFrontend
from tests.gateway.authority import Authority

SECRET = b"s" * 32
FOREVER = time.time() + 1e6


def install(name: str, org: str = "dev", expires: float = FOREVER) -> Identity:
    return Identity("install", org, name, "a-key", expires)


def build(org: str = "dev") -> Identity:
    return Identity("build", org, "", "a-key", FOREVER)


class Credentials:
    """Plain words as credentials; an expired one is refused, as a real one is."""

    def __init__(self, known: Mapping[str, Identity]) -> None:
        self.known = dict(known)

    def authenticate(self, authorization: str | None) -> Identity:
        word = (authorization or "").removeprefix("Bearer ")
        identity = self.known.get(word)
        if identity is None:
            raise Unauthenticated("there is no credential that this gateway knows")
        if identity.expires < time.time():
            raise Expired(f"the credential of {identity.shown} has expired", identity)
        return identity


class Standings:
    """Knows who is paused or revoked; everybody else is allowed."""

    def __init__(self) -> None:
        self._standings: dict[tuple[str, str], Standing] = {}
        self._watching: dict[tuple[str, str], set[asyncio.Future[None]]] = defaultdict(set)
        self._watched = asyncio.Event()

    def standing(self, identity: Identity) -> Standing:
        return self._standings.get((identity.org, identity.shown), Standing.ALLOWED)

    def changed(self, identity: Identity) -> "asyncio.Future[None]":
        watching = self._watching[identity.org, identity.shown]
        change: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        watching.add(change)
        change.add_done_callback(watching.discard)
        self._watched.set()
        return change

    async def watched(self, identity: Identity, polls: int = 1) -> None:
        """Wait until this many polls of an identity are waiting."""
        while len(self._watching[identity.org, identity.shown]) < polls:
            self._watched.clear()
            await self._watched.wait()

    def set(self, identity: Identity, standing: Standing) -> None:
        self._standings[identity.org, identity.shown] = standing
        for change in self._watching.pop((identity.org, identity.shown), set()):
            if not change.done():
                change.set_result(None)


@dataclass(frozen=True)
class Address:
    """Where a gateway is, and how to connect to it."""

    port: int
    authority: Authority | None

    @property
    def address(self) -> str:
        return f"localhost:{self.port}"

    @asynccontextmanager
    async def channel(self, word: str | None, *, alone: bool = False) -> AsyncIterator["Calling"]:
        """A bare gRPC channel, without an SDK; `alone` gives it a connection of its own."""
        options = [("grpc.use_local_subchannel_pool", int(alone))]
        if self.authority:
            trusted = grpc.ssl_channel_credentials(self.authority.pem)
            channel = aio.secure_channel(self.address, trusted, options=options)
        else:
            channel = aio.insecure_channel(self.address, options=options)
        async with channel:
            yield Calling(channel, word)

    async def connect(self, word: str, namespace: str = "dev") -> Client:
        """A client like a worker's, with a credential."""
        tls = TLSConfig(server_root_ca_cert=self.authority.pem) if self.authority else False
        return await Client.connect(self.address, namespace=namespace, api_key=word, tls=tls)


@dataclass(frozen=True)
class Gateway(Address):
    """A gateway in this process."""

    door: Door


class Calling:
    """Calls RPCs by their full names, with serialized messages."""

    def __init__(self, channel: aio.Channel, word: str | None) -> None:
        self._channel = channel
        self._metadata = [("authorization", f"Bearer {word}")] if word else []

    def start(
        self,
        rpc: str,
        request: Message | bytes = b"",
        seconds: float = 20.0,
        headers: Mapping[str, str | bytes] | None = None,
    ) -> "aio.UnaryUnaryCall[bytes, bytes]":
        body = request if isinstance(request, bytes) else request.SerializeToString()
        method = rpc if rpc.startswith("/") else WORKFLOW_SERVICE + rpc
        metadata = [*self._metadata, *(headers or {}).items()]
        call: aio.UnaryUnaryMultiCallable[bytes, bytes] = self._channel.unary_unary(method)
        return call(body, timeout=seconds, metadata=metadata)

    async def status(
        self, rpc: str, request: Message | bytes = b"", seconds: float = 20.0
    ) -> tuple[grpc.StatusCode, str]:
        call = self.start(rpc, request, seconds)
        return await call.code(), await call.details() or ""

    async def poll(self, queue: str = "", seconds: float = 20.0) -> PollActivityTaskQueueResponse:
        request = PollActivityTaskQueueRequest(task_queue=TaskQueue(name=queue))
        answer = await self.start("PollActivityTaskQueue", request, seconds)
        return PollActivityTaskQueueResponse.FromString(answer)


@dataclass
class Site:
    """The configuration that several gateways share."""

    temporal: str
    authority: Authority | None
    credentials: Credentials
    standings: Standings = field(default_factory=Standings)
    limits: Limits = field(default_factory=Limits)
    front: FrontLimits = field(default_factory=FrontLimits)
    secrets: tuple[bytes, ...] = (SECRET,)
    api_key: str | None = None
    routes: tuple[Route, ...] = ()

    def at(self, port: int) -> Address:
        """A gateway in another process."""
        return Address(port, self.authority)

    @asynccontextmanager
    async def gateway(self, port: int = 0) -> AsyncIterator[Gateway]:
        authority = self.authority
        settings = DoorSettings(
            TemporalFrontend(self.temporal, api_key=self.api_key),
            self.secrets,
            Certificate(authority.certificate, authority.key) if authority else None,
            self.limits,
            self.front,
        )
        door = Door(settings, self.credentials, self.standings, self.routes)
        listener = listen(f"127.0.0.1:{port}", "the gateway")
        await door.open(listener)
        try:
            yield Gateway(listener.getsockname()[1], authority, door)
        finally:
            await door.close(grace=0)
            gc.collect()


SETTINGS = {
    "history.transferProcessorMaxPollRPS": "1000",
    "matching.numTaskqueueReadPartitions": "1",
    "matching.numTaskqueueWritePartitions": "1",
    "frontend.WorkerCommandsEnabled": "true",
    "system.enableCancelActivityWorkerCommand": "true",
}


@asynccontextmanager
async def temporal() -> AsyncIterator[Client]:
    """The development server, with worker commands enabled as in `exclave dev`."""
    async with await WorkflowEnvironment.start_local(
        namespace="dev",
        dev_server_existing_path=str(Path(sys.executable).with_name("temporal")),
        dev_server_log_level="error",
        dev_server_extra_args=[
            word
            for name, value in SETTINGS.items()
            for word in ("--dynamic-config-value", f"{name}={value}")
        ],
    ) as environment:
        yield environment.client
