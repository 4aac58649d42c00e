"""How a process of ours connects to Temporal, and waits for one that is not there.

`Client.connect` to an address that does not answer raises at once, and a worker cannot be built
on a lazy client: so the loop is here.
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
    # To the SDK this means any number; by default it gives up after ten.
    max_retries=0,
)
"""Without end: the result of an hour of applying outlives any outage of the control plane."""


class Credential(Protocol):
    """A credential that is renewed while clients are connected."""

    @property
    def token(self) -> str:
        """The newest one; a secret."""

    def attach(self, client: Client) -> None:
        """Give a client each new one from now on."""

    async def renew(self) -> None:
        """Get a new one, however long it takes: the one at hand was refused."""


@dataclass(frozen=True)
class TemporalAddress:
    """Where the control plane is."""

    address: str
    """`host:port`."""
    namespace: str
    tls: TLSConfig | bool = False
    credential: Credential | None = None
    """What each call is shown with, where the address is a gateway's."""
    proxy: Proxy | None = None
    """What it is reached through."""

    @staticmethod
    def from_environment(
        address: str | None = None, namespace: str | None = None
    ) -> "TemporalAddress":
        """What the flags say, else `TEMPORAL_*` and `temporal.toml`, else the defaults of dev."""
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
    """Connect or raise RuntimeError at once.

    Args:
        where: The address and namespace.
        keys: What payloads are encrypted with; without them they are plain.
        patient: Calls are retried without end, instead of for 10 s.
        runtime: The SDK's, if it shall not be this process's own.
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
    """Connect, waiting for as long as it takes, and say what is waited for.

    Args:
        where: The address and namespace.
        keys: What payloads are encrypted with; without them they are plain.
        patient: Calls of the client are retried without end, instead of for 10 s.
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
    """Seconds between one try and the next, without end."""
    return backoff(1.0, 15.0)


def reason(error: BaseException) -> str:
    """The innermost words of an error: the outer ones only say that connecting failed."""
    quoted = _INNERMOST.findall(str(error))
    return str(quoted[-1] if quoted else error)[:300]
