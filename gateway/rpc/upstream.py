"""The gateway's own connection to Temporal, with its own credentials and never a worker's."""

from collections.abc import Sequence
from dataclasses import dataclass

import grpc
from grpc import aio

from gateway.bodies import MESSAGE_BYTES

Metadata = Sequence[tuple[str, str | bytes]]

_OPTIONS = [
    # Temporal limits what it sends; another limit here would only hide its answer.
    ("grpc.max_receive_message_length", -1),
    ("grpc.max_send_message_length", -1),
    ("grpc.keepalive_time_ms", 30_000),
    ("grpc.keepalive_timeout_ms", 10_000),
    # After an outage, workers should not have to wait for the gateway to reconnect.
    ("grpc.initial_reconnect_backoff_ms", 200),
    ("grpc.max_reconnect_backoff_ms", 3_000),
    # Channels with equal options would share one connection.
    ("grpc.use_local_subchannel_pool", 1),
    ("grpc.enable_retries", 0),
    # No bandwidth probing, which sends a ping for every task; the window fits Temporal's largest
    # message.
    ("grpc.http2.bdp_probe", 0),
    ("grpc.http2.lookahead_bytes", MESSAGE_BYTES),
]


@dataclass(frozen=True)
class TemporalFrontend:
    """Where Temporal is, and how the gateway authenticates there."""

    address: str
    """`host:port`."""
    tls: bool = False
    ca: bytes | None = None
    """PEM of the authorities to trust; None for gRPC's own."""
    certificate: bytes | None = None
    """PEM of the gateway's client certificate, if Temporal requires one."""
    key: bytes | None = None
    api_key: str | None = None


class Upstream:
    """Channels to Temporal: one for polls, one for all other calls."""

    def __init__(self, frontend: TemporalFrontend) -> None:
        self._polls = _channel(frontend)
        self._calls = _channel(frontend)
        self._own: Metadata = (
            [("authorization", f"Bearer {frontend.api_key}")] if frontend.api_key else []
        )
        self._methods: dict[str, aio.UnaryUnaryMultiCallable[bytes, bytes]] = {}

    def start(
        self, method: str, *, waits: bool, body: bytes, metadata: Metadata, seconds: float
    ) -> "aio.UnaryUnaryCall[bytes, bytes]":
        """Send a call.

        Args:
            method: The RPC's full name.
            waits: Whether it is a poll.
            body: The request, serialized.
            metadata: Metadata to send besides the gateway's own credential.
            seconds: Its deadline, in seconds from now.
        """
        sending = self._methods.get(method)
        if sending is None:
            channel = self._polls if waits else self._calls
            sending = self._methods[method] = channel.unary_unary(method)
        return sending(body, timeout=seconds, metadata=aio.Metadata(*metadata, *self._own))

    async def close(self) -> None:
        """Close the channels; calls under way are cancelled."""
        await self._polls.close()
        await self._calls.close()


def _channel(frontend: TemporalFrontend) -> aio.Channel:
    if not frontend.tls:
        return aio.insecure_channel(frontend.address, options=_OPTIONS)
    credentials = grpc.ssl_channel_credentials(frontend.ca, frontend.key, frontend.certificate)
    return aio.secure_channel(frontend.address, credentials, options=_OPTIONS)
