"""A control plane with an enrolment key, a gateway's routes on a real server, and workers."""

import asyncio
import socket
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import uvicorn
from starlette.applications import Starlette
from temporalio.client import Client, WorkflowUpdateFailedError
from temporalio.exceptions import ApplicationError
from temporalio.testing import WorkflowEnvironment
from temporalio.worker import Worker

from activities.access.activities import AccessActivities, PayloadKeys
from activities.access.authority import EnrolmentAuthority, EnrolmentKey
from activities.access.vouching import Vouching
from contracts.access import (
    AccessChanged,
    AccessPage,
    AccessPageRequest,
    EarlierAnswer,
    Enrolled,
    EnrolRequest,
    TokenProof,
)
from contracts.names import CONTROL_QUEUE, access_workflow_id
from gateway.enrolment.access import AccessOfOrgs, AccessWatch
from gateway.enrolment.address_limits import AddressLimits
from gateway.enrolment.credentials import CredentialKey, GatewayCredentials
from gateway.enrolment.routes import Enrolment
from gateway.identity import Identity
from tests.tls_certificates import Certificate
from tests.workflow_histories import replay_all
from wire.arguments import ArgumentCount
from wire.conversion import data_converter
from wire.enrolment.client import ControlKeys, Enrolee, GatewayCalls
from wire.enrolment.sealing import decoded, encoded, seal
from wire.enrolment.token import EnrolmentToken, TokenId, answer_bytes, sealed_about
from wire.enrolment.worker_identity import WorkerIdentity
from wire.network.gateway_address import GatewayAddress
from workers.control import SANDBOX, WORKFLOWS, publish_token_keys

T = TypeVar("T")

ORG = "dev"
PATIENCE_SECONDS = 60
"""Far longer than anything here takes."""


class Clock:
    """A clock that the test sets."""

    def __init__(self, now: float = 1_800_000_000.0) -> None:
        self.now = now

    def __call__(self) -> float:
        return self.now


async def soon(waiting: Awaitable[T]) -> T:
    return await asyncio.wait_for(waiting, PATIENCE_SECONDS)


@dataclass
class Org:
    """The org's control side."""

    client: Client
    authority: EnrolmentAuthority
    clock: Callable[[], float]
    name: str = ORG

    @property
    def address(self) -> str:
        """Temporal's address."""
        return self.client.service_client.config.target_host

    @property
    def entity(self) -> Any:
        return self.client.get_workflow_handle(access_workflow_id(self.name))

    def token(self, subject: str, *, seconds: int = 3600, org: str = "") -> EnrolmentToken:
        expires = int(self.clock()) + seconds
        return self.authority.mint(TokenId.fresh(org or self.name, subject, expires))

    def request(
        self, subject: str, worker: WorkerIdentity, token: EnrolmentToken | None = None
    ) -> EnrolRequest:
        token = token or self.token(subject)
        proof = TokenProof(id=token.id, proof=token.prove(worker.public))
        return EnrolRequest(subject=subject, keys=worker.public, token=proof)

    async def enrol(
        self, subject: str, worker: WorkerIdentity, token: EnrolmentToken | None = None
    ) -> Enrolled:
        request = self.request(subject, worker, token)
        found: Enrolled = await soon(
            self.entity.execute_update("enrol", request, result_type=Enrolled)
        )
        return found

    def signed(self, subject: str, worker: WorkerIdentity) -> EarlierAnswer:
        """An answer of the control side that the Access workflow does not know (any more)."""
        sealing = decoded(worker.public.sealing)
        sealed = seal(b"as before", sealing, sealed_about("payload keys", subject))
        data = answer_bytes(subject, worker.public, sealed)
        signature = EnrolmentKey(bytes(range(32))).signing.sign(data)
        return EarlierAnswer(sealed=sealed, signature=encoded(signature))

    async def update(self, update: str, subject: str, **more: Any) -> AccessChanged:
        found: AccessChanged = await soon(
            self.entity.execute_update(
                update, {"subject": subject, **more}, result_type=AccessChanged
            )
        )
        return found

    async def refusal(self, waiting: Awaitable[Any]) -> tuple[str, str]:
        """The code and the message with which an update is refused."""
        try:
            await waiting
        except WorkflowUpdateFailedError as error:
            assert isinstance(error.cause, ApplicationError), repr(error.cause)
            details = error.cause.details
            return (details[0]["code"] if details else error.cause.type or ""), error.cause.message
        raise AssertionError("it was not refused")

    async def page(self, after: str = "", limit: int = 1000) -> AccessPage:
        found: AccessPage = await soon(
            self.entity.query(
                "access", AccessPageRequest(after=after, limit=limit), result_type=AccessPage
            )
        )
        return found

    async def begin(self) -> None:
        if self.name == self.client.namespace:
            await publish_token_keys(self.client, self.authority)
            return
        # With an id of its own, since a test may have several on one server.
        await self.client.start_workflow(
            "Access",
            {"org": self.name},
            id=access_workflow_id(self.name),
            task_queue=CONTROL_QUEUE,
            start_signal="token_keys",
            start_signal_args=[{"keys": self.authority.token_keys}],
        )


@asynccontextmanager
async def temporal(
    settings: dict[str, str] | None = None, *, attributes: Sequence[str] = ()
) -> AsyncIterator[Client]:
    """A server of its own."""
    async with await WorkflowEnvironment.start_local(
        namespace=ORG,
        data_converter=data_converter,
        dev_server_existing_path=str(Path(sys.executable).with_name("temporal")),
        dev_server_log_level="error",
        dev_server_extra_args=[
            *(f"--search-attribute={attribute}=Keyword" for attribute in attributes),
            *(
                word
                for name, value in {
                    "history.transferProcessorMaxPollRPS": "1000",
                    "matching.numTaskqueueReadPartitions": "1",
                    "matching.numTaskqueueWritePartitions": "1",
                    **(settings or {}),
                }.items()
                for word in ("--dynamic-config-value", f"{name}={value}")
            ),
        ],
    ) as environment:
        yield environment.client


@asynccontextmanager
async def controlled(
    client: Client,
    clock: Callable[[], float],
    *,
    key: EnrolmentKey | None = None,
    vouching: Vouching | None = None,
    payload_keys: PayloadKeys = lambda subject: f"payload keys of {subject}".encode(),
) -> AsyncIterator[Org]:
    """A control worker of the org, with an enrolment key. At the end, all histories must replay."""
    authority = EnrolmentAuthority([key or EnrolmentKey(bytes(range(32)))])
    activities = AccessActivities(
        authority,
        client.namespace,
        vouching=vouching or Vouching(),
        payload_keys=payload_keys,
        clock=clock,
    )
    async with Worker(
        client,
        task_queue=CONTROL_QUEUE,
        workflows=WORKFLOWS,
        workflow_runner=SANDBOX,
        activities=[activities.verify_enrolment, activities.mint_token],
        interceptors=[ArgumentCount()],
    ):
        yield Org(client, authority, clock)
    await replay_all(client)


@asynccontextmanager
async def watching(client: Client) -> AsyncIterator[AccessWatch]:
    watch = AccessWatch(client)
    running = asyncio.create_task(watch.run())
    try:
        await soon(watch.ready())
        yield watch
    finally:
        running.cancel()
        with suppress(asyncio.CancelledError):
            await running


@dataclass
class Gateway:
    """One gateway's routes on a listener of its own."""

    address: GatewayAddress
    watch: AccessWatch
    credentials: GatewayCredentials
    clock: Clock

    def calls(
        self, org: Org, subject: str, worker: WorkerIdentity, clock: Callable[[], float]
    ) -> GatewayCalls:
        return GatewayCalls(enrolee(org, subject, worker, self.address), clock)


def enrolee(org: Org, subject: str, worker: WorkerIdentity, gateway: GatewayAddress) -> Enrolee:
    control = ControlKeys.parse(org.authority.public)
    return Enrolee(ORG, subject, worker, gateway, control)


@dataclass
class Shared:
    """What several gateways share."""

    key: CredentialKey
    clock: Clock
    limits: AddressLimits = field(default_factory=lambda: AddressLimits(10_000, 10_000.0))


@asynccontextmanager
async def gateway(
    client: Client, shared: Shared, certificate: Certificate | None = None
) -> AsyncIterator[Gateway]:
    credentials = GatewayCredentials([shared.key], clock=shared.clock)
    async with watching(client) as watch:
        enrolment = Enrolment(AccessOfOrgs([watch]), credentials, shared.limits, shared.clock)
        app = Starlette(routes=enrolment.routes())
        async with serving(app, certificate) as address:
            yield Gateway(address, watch, credentials, shared.clock)


@asynccontextmanager
async def serving(app: Any, certificate: Certificate | None) -> AsyncIterator[GatewayAddress]:
    listener = socket.socket()
    listener.bind(("127.0.0.1", 0))
    config = uvicorn.Config(app, log_level="error", lifespan="off")
    if certificate is not None:
        config.ssl_certfile = str(certificate.file)
        config.ssl_keyfile = str(certificate.key)
    server = uvicorn.Server(config)
    running = asyncio.create_task(server.serve(sockets=[listener]))
    while not server.started:
        await asyncio.sleep(0.01)
    scheme = "https" if certificate else "http"
    url = f"{scheme}://127.0.0.1:{listener.getsockname()[1]}"
    try:
        yield GatewayAddress.parse(url, certificate.ca.read_text() if certificate else None)
    finally:
        server.should_exit = True
        await running
        listener.close()


def identity(subject: str, worker: WorkerIdentity, org: str = ORG) -> Identity:
    kind, _, name = subject.partition("/")
    return Identity(kind=kind, org=org, name=name, key=worker.thumbprint, expires=0)  # type: ignore[arg-type]
