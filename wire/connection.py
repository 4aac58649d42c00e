"""Connects a process to Temporal, and waits while Temporal is away.

`Client.connect` raises at once if the address does not answer, and a worker cannot be built on a
lazy client, so the loop is here.
"""

import asyncio
import logging
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

from temporalio.client import Client
from temporalio.envconfig import ClientConfig
from temporalio.runtime import Runtime
from temporalio.service import RetryConfig, RPCError, TLSConfig

from wire.backoff import backoff
from wire.conversion import encrypting
from wire.encryption.keys import Keys
from wire.network.egress import Proxy

_log = logging.getLogger(__name__)

_INNERMOST = re.compile(r'(?:message|error): "([^"]+)"')

_PATIENT = RetryConfig(
    initial_interval_millis=100,
    max_interval_millis=5_000,
    max_elapsed_time_millis=None,
    # Zero means unlimited; by default the SDK gives up after ten.
    max_retries=0,
)
"""Unlimited retries: the result of an hour's apply must survive any outage of the control plane."""


class Credential(Protocol):
    """A credential that is renewed while clients are connected."""

    @property
    def token(self) -> str:
        """The newest credential; a secret."""

    def attach(self, client: Client) -> None:
        """Give the client every new credential from now on."""

    async def renew(self) -> None:
        """Replace the current credential, which was refused, however long it takes."""


@dataclass(frozen=True)
class TemporalAddress:
    """Where the control plane is."""

    address: str
    """`host:port`."""
    namespace: str
    tls: TLSConfig | bool = False
    credential: Credential | None = None
    """Authenticates each call, if the address is a gateway's."""
    proxy: Proxy | None = None
    """The proxy to connect through."""

    @staticmethod
    def from_environment(
        address: str | None = None, namespace: str | None = None
    ) -> "TemporalAddress":
        """From the flags, else from `TEMPORAL_*` and `temporal.toml`, else the defaults of dev."""
        found = ClientConfig.load_client_connect_config()
        return TemporalAddress(
            address or found.get("target_host") or "127.0.0.1:7233",
            namespace or found.get("namespace") or "dev",
        )


async def connect_once(
    where: TemporalAddress,
    keys: Keys | None = None,
    *,
    patient: bool = False,
    runtime: Runtime | None = None,
) -> Client:
    """Connect, or raise RuntimeError at once.

    Args:
        where: The address and namespace.
        keys: The keys that encrypt payloads; without them, payloads are plain.
        patient: Retry calls without limit, instead of for 10 s.
        runtime: The SDK's runtime; by default, the process's own.
    """
    credential = where.credential
    client = await Client.connect(
        where.address,
        namespace=where.namespace,
        data_converter=encrypting(keys, where.namespace),
        retry_config=_PATIENT if patient else None,
        tls=where.tls,
        api_key=credential.token if credential else None,
        runtime=runtime,
        http_connect_proxy_config=where.proxy.for_grpc() if where.proxy else None,
    )
    if credential is not None:
        credential.attach(client)
    return client


async def connect(
    where: TemporalAddress, keys: Keys | None = None, *, patient: bool = False
) -> Client:
    """Connect, however long it takes, and log what it waits for.

    Args:
        where: The address and namespace.
        keys: The keys that encrypt payloads; without them, payloads are plain.
        patient: Retry the client's calls without limit, instead of for 10 s.
    """
    for delay in delays():
        try:
            return await connect_once(where, keys, patient=patient)
        except (RuntimeError, RPCError) as error:
            _log.warning(
                "Waiting for the control plane at %s (namespace %s): %s. Trying again in %.0f s.",
                where.address,
                where.namespace,
                reason(error),
                delay,
            )
            await asyncio.sleep(delay)
    raise AssertionError("the delays never end")


def delays() -> Iterator[float]:
    """Seconds between attempts, endlessly."""
    return backoff(1.0, 15.0)


def reason(error: BaseException) -> str:
    """The innermost message of an error; the outer ones only say that connecting failed."""
    quoted = _INNERMOST.findall(str(error))
    return str(quoted[-1] if quoted else error)[:300]
