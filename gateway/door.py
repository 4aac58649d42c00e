"""A whole gateway in one process: the front, with the gRPC proxy and the HTTP app behind it."""

import asyncio
import logging
import socket
from collections.abc import Sequence
from dataclasses import dataclass, field

import uvicorn
from grpc import aio
from starlette.routing import BaseRoute

from gateway.audit import Audit, Counters
from gateway.bodies import MESSAGE_BYTES
from gateway.front.certificates import Certificate, CertificateUnusable
from gateway.front.hello import Speaks, speaks_in_clear, speaks_in_tls
from gateway.front.limits import FrontLimits
from gateway.front.listening import listen
from gateway.front.peers import Peers
from gateway.front.server import Front
from gateway.http.app import FromOutside, gateway_app
from gateway.http.server import AsgiServer
from gateway.identity import Access, Authenticator
from gateway.limits import Allowances, Limits
from gateway.rpc.lanes import Lanes
from gateway.rpc.policy import calls
from gateway.rpc.proxy import Proxy
from gateway.rpc.task_tokens import TaskTokens
from gateway.rpc.upstream import TemporalFrontend, Upstream

_log = logging.getLogger(__name__)

_REFRESH_SECONDS = 60.0
_HTTP_GRACE_SECONDS = 10
_CALLS_WAITING = 400
"""How many calls of one identity may wait until there is room to receive their messages."""

_GRPC_OPTIONS = [
    # Above the real limit, so that a message over that gets the answer that the SDK recognizes.
    ("grpc.max_receive_message_length", 2 * MESSAGE_BYTES),
    ("grpc.max_send_message_length", -1),
    # gateway.bodies decompresses, within a limit. The bits below stand for gzip and identity.
    ("grpc.per_message_decompression", 0),
    ("grpc.compression_enabled_algorithms_bitset", 0b101),
    ("grpc.max_metadata_size", 16 * 1024),
    # A client may send 64 KiB ahead; the rest stays with it until the message is read.
    ("grpc.http2.bdp_probe", 0),
    ("grpc.max_concurrent_streams", 200),
    # Unauthenticated calls wait in the same queue as all others until they are refused. By default,
    # gRPC drops calls at random beyond a thousand; the front already limits how many there can be.
    ("grpc.server.max_pending_requests", 100_000),
    ("grpc.server.max_pending_requests_hard_limit", 200_000),
    ("grpc.server_handshake_timeout_ms", 10_000),
    # Workers ping every 30 s, also between polls.
    ("grpc.keepalive_permit_without_calls", 1),
    ("grpc.http2.min_ping_interval_without_data_ms", 10_000),
    # Detects vanished machines: otherwise a task could be given to a dead worker's open poll.
    ("grpc.keepalive_time_ms", 60_000),
    ("grpc.keepalive_timeout_ms", 20_000),
    ("grpc.so_reuseport", 0),
]


@dataclass(frozen=True)
class DoorSettings:
    """The settings of a gateway; all gateways of a control plane have the same."""

    frontend: TemporalFrontend
    secrets: Sequence[bytes]
    """Task tokens are sealed with the first, and opened with any."""
    certificate: Certificate | None = None
    """Without one, nothing is encrypted: for development, on loopback."""
    limits: Limits = field(default_factory=Limits)
    front: FrontLimits = field(default_factory=FrontLimits)


class Door:
    """A gateway that can be opened, drained and closed."""

    def __init__(
        self,
        settings: DoorSettings,
        authenticator: Authenticator,
        access: Access,
        routes: Sequence[BaseRoute] = (),
        audit: Audit | None = None,
    ) -> None:
        self.settings = settings
        self._peers = Peers()
        self._upstream = Upstream(settings.frontend)
        self._audit = audit or Audit()
        self.allowances = Allowances(settings.limits)
        self._proxy = Proxy(
            calls=calls(TaskTokens(settings.secrets), self.allowances),
            upstream=self._upstream,
            authenticator=authenticator,
            access=access,
            allowances=self.allowances,
            bodies=Lanes("calls", settings.limits.bodies, _CALLS_WAITING),
            audit=self._audit,
            peers=self._peers,
        )
        self._grpc = aio.server(options=_GRPC_OPTIONS)
        self._grpc.add_generic_rpc_handlers((self._proxy,))
        app = FromOutside(gateway_app(routes, self._unhealthy), self._peers)
        self._http = AsgiServer(_http_config(app, settings.certificate))
        self.front: Front | None = None
        self._serving: asyncio.Task[None] | None = None
        self._refreshing: asyncio.Task[None] | None = None
        self._leaving = False

    @property
    def counters(self) -> Counters:
        """Counts of what was let through and denied."""
        return self._audit.counters

    async def open(self, listener: socket.socket) -> None:
        """Serve on a bound socket; returns once everything is up."""
        certificate = self.settings.certificate
        inner = "127.0.0.1:0"
        if certificate is None:
            grpc_port = self._grpc.add_insecure_port(inner)
        else:
            grpc_port = self._grpc.add_secure_port(inner, certificate.for_grpc())
            self._refreshing = asyncio.create_task(_refresh(certificate), name="certificate")
        await self._grpc.start()
        http = listen(inner, "the gateway")
        self._serving = asyncio.create_task(self._http.serve([http]), name="HTTP")
        await self._http.up.wait()
        self.front = Front(
            speaks_in_clear if certificate is None else speaks_in_tls,
            {Speaks.GRPC: grpc_port, Speaks.HTTP: http.getsockname()[1]},
            self._peers,
            self.settings.front,
        )
        await self.front.start(listener)

    async def close(self, grace: float) -> None:
        """Accept nothing new, answer polls as empty, and let other calls end.

        Args:
            grace: How many seconds the other calls may take.
        """
        self._leaving = True
        if self.front is not None:
            self.front.stop_accepting()
        # This makes workers connect elsewhere, so it must come before their polls are answered.
        stopping = asyncio.create_task(self._grpc.stop(grace))
        await asyncio.sleep(0)
        self._proxy.drain()
        self._http.should_exit = True
        await stopping
        await self._upstream.close()
        if self._serving is not None:
            await self._serving
        if self.front is not None:
            await self.front.close()
        if self._refreshing is not None:
            self._refreshing.cancel()
            await asyncio.gather(self._refreshing, return_exceptions=True)

    def _unhealthy(self) -> str | None:
        return "leaving: new connections should go to another gateway" if self._leaving else None


async def _refresh(certificate: Certificate) -> None:
    while True:
        await asyncio.sleep(_REFRESH_SECONDS)
        try:
            changed = await asyncio.to_thread(certificate.refresh)
        except CertificateUnusable as error:
            _log.error("Serving on with the old certificate: %s", error)
            continue
        if changed:
            _log.info("New connections get the new certificate.")


def _http_config(app: FromOutside, certificate: Certificate | None) -> uvicorn.Config:
    return uvicorn.Config(
        app,
        log_config=None,
        access_log=False,
        # Anybody can provoke its warnings, in any number.
        log_level="error",
        lifespan="off",
        ws="none",
        # The front adds no such headers, so those that arrive come from outside; ignore them.
        proxy_headers=False,
        server_header=False,
        timeout_graceful_shutdown=_HTTP_GRACE_SECONDS,
        ssl_context_factory=None
        if certificate is None
        else lambda _config, _default: certificate.for_http(),
    )
