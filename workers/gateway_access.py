"""Connects a worker to its control plane, through the gateway or directly, with its credential."""

import asyncio
import logging
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from stacks.enrolment import TOKEN_FILE, Enrolment, WorkerEnrolment
from wire.connection import TemporalAddress
from wire.encryption.key_ring import KeyRing
from wire.encryption.keys import Keys, WorkerKeys
from wire.enrolment.client import ControlKeys, Enrolee
from wire.enrolment.cloud_documents import document_of
from wire.enrolment.credential import ByCloud, ByToken, Credentials, Enrolling, Proof
from wire.enrolment.worker_identity import WorkerIdentity
from wire.network.egress import proxy_for, proxy_to
from wire.network.gateway_address import GatewayAddress
from wire.network.trust import Trust

if TYPE_CHECKING:
    from artifacts.registry import Registry

IDENTITY_FOLDER = "identity"
"""Within the worker's data folder: its keys, and the result of its enrolment."""


_log = logging.getLogger(__name__)

LEARN_SECONDS = 30.0
"""Ask for keys at most this often; a task that lacks a key is retried for longer."""


class Throttle:
    """Limits how often something may happen."""

    def __init__(self, seconds: float) -> None:
        """Allow it at most once in so many seconds."""
        self._seconds = seconds
        self._next = float("-inf")

    def may(self) -> bool:
        """Whether it may happen now; if so, it may not happen again for a while."""
        now = asyncio.get_running_loop().time()
        if now < self._next:
            return False
        self._next = now + self._seconds
        return True


@dataclass(frozen=True)
class Reach:
    """How a worker reaches its control plane."""

    temporal: TemporalAddress
    releases: "Callable[[], Registry]"
    """Opens the registry of releases. A function, since an idle worker does not import httpx."""
    credentials: Credentials | None
    """None without a gateway, in development."""
    gateway: GatewayAddress | None = None
    """The gateway's address, if there is one."""
    _learning: "Throttle" = field(default_factory=lambda: Throttle(LEARN_SECONDS))
    _rings: list[KeyRing] = field(default_factory=list)

    def keys(self) -> Keys | None:
        """The payload keys that the control side gave the worker; None if payloads are plain."""
        handed = self._handed()
        if not handed:
            return None
        ring = KeyRing(WorkerKeys.from_bytes(handed))
        self._rings.append(ring)
        return ring

    async def learn_keys(self) -> None:
        """Ask for new payload keys, since one is missing: the control side uses another one now.

        This is throttled: many tasks may need a key at once, or one that does not exist.
        """
        if self.credentials is None or not self._learning.may():
            return
        if await self.credentials.refresh_payload_keys():
            _log.info("New payload keys received: the control side uses another one now.")
            for ring in self._rings:
                ring.exchange(WorkerKeys.from_bytes(self._handed()))

    def _handed(self) -> bytes:
        return self.credentials.payload_keys() if self.credentials is not None else b""

    async def ready(self) -> None:
        """Wait for a credential, if one is needed."""
        if self.credentials is not None:
            await self.credentials.start()


def reach(enrolment: Enrolment, enrolment_file: Path, data: Path) -> Reach:
    """How the install worker of an enrolment reaches its control plane.

    Args:
        enrolment: The content of the enrolment file.
        enrolment_file: That file; the token is beside it.
        data: The worker's data folder.

    Raises:
        IdentityUnusable: the worker's keys cannot be used.
        TrustUnusable: the `ca_bundle` cannot be read.
        ProxyUnusable: the machine's proxy cannot be used.
    """
    trust = Trust.read(enrolment.ca_bundle)
    if enrolment.gateway is None:
        proxy_for(enrolment.releases)  # to report an unusable proxy at the start
        return Reach(
            TemporalAddress(
                enrolment.temporal,
                enrolment.namespace,
                proxy=proxy_to(enrolment.temporal.rpartition(":")[0]),
            ),
            partial(_direct_releases, enrolment.releases, trust),
            None,
        )
    return reach_through_gateway(enrolment, enrolment_file, data, trust)


def reach_through_gateway(
    enrolment: WorkerEnrolment, enrolment_file: Path, data: Path, trust: Trust
) -> Reach:
    """How the worker of an enrolment with a gateway reaches its control plane; raises as `reach`.

    Args:
        enrolment: The content of the enrolment file.
        enrolment_file: That file; the token is beside it.
        data: The worker's data folder.
        trust: The authorities that the worker trusts besides the system's.
    """
    enrolling = enrolling_of(enrolment, enrolment_file, data, trust)
    gateway, credentials = enrolling.who.gateway, Credentials(enrolling)
    return Reach(
        TemporalAddress(
            gateway.target,
            enrolment.namespace,
            gateway.tls(),
            credentials,
            proxy_to(gateway.target.rpartition(":")[0]),
        ),
        partial(_releases_through, gateway, credentials),
        credentials,
        gateway,
    )


def _direct_releases(url: str, trust: Trust) -> "Registry":
    from artifacts.registry import Registry  # noqa: PLC0415

    return Registry(url, trust=trust.context() if url.startswith("https://") else None)


def _releases_through(gateway: GatewayAddress, credentials: Credentials) -> "Registry":
    from artifacts.registry import Registry  # noqa: PLC0415
    from wire.network.httpx_parts import Bearer  # noqa: PLC0415

    trust = gateway.context() if gateway.secure else None
    return Registry(gateway.url, auth=Bearer(credentials), trust=trust)


def enrolling_of(
    enrolment: WorkerEnrolment, enrolment_file: Path, data: Path, trust: Trust
) -> Enrolling:
    """How the worker of an enrolment with a gateway enrols; makes the worker's keys if needed.

    Raises:
        IdentityUnusable: the worker's keys cannot be used.
    """
    if enrolment.gateway is None or enrolment.control_key is None:
        raise AssertionError("a worker enrols only at a gateway")
    folder = data / IDENTITY_FOLDER
    who = Enrolee(
        org=enrolment.namespace,
        subject=enrolment.subject,
        identity=WorkerIdentity.open(folder),
        gateway=GatewayAddress.parse(enrolment.gateway, trust.authorities(enrolment.gateway_ca)),
        control=ControlKeys.parse(enrolment.control_key),
    )
    proof: Proof = ByToken(enrolment_file.with_name(TOKEN_FILE))
    if enrolment.cloud is not None:
        proof = ByCloud(enrolment.cloud, document_of(enrolment.cloud, enrolment.cloud_audience))
    return Enrolling(who, folder, proof)
