"""How an install worker reaches its control plane through the gateway: its keys and credential."""

from dataclasses import dataclass
from pathlib import Path

from temporalio.service import TLSConfig

from artifacts.registry import Registry
from stacks.enrolment import TOKEN_FILE, Enrolment
from wire.cloud_documents import document_of
from wire.connection import TemporalAddress
from wire.credential import ByCloud, ByToken, Credentials, Enrolling, Proof
from wire.enrolling import ControlKeys, Enrolee
from wire.gateway_address import GatewayAddress
from wire.key_ring import KeyRing
from wire.keys import Keys, WorkerKeys
from wire.worker_identity import WorkerIdentity

IDENTITY_FOLDER = "identity"
"""In the worker's data folder: its keys, and what it remembers of its enrolment."""


@dataclass(frozen=True)
class Reach:
    """Where a worker's control plane is."""

    temporal: TemporalAddress
    releases: Registry
    credentials: Credentials | None
    """None where it is reached directly, which is for development."""

    def keys(self) -> Keys | None:
        """What payloads are encrypted with, as the control side handed it over; None for plain."""
        handed = self.credentials.payload_keys() if self.credentials is not None else b""
        return KeyRing(WorkerKeys.handed(handed)) if handed else None

    async def ready(self) -> None:
        """Wait until there is a credential, if one is needed."""
        if self.credentials is not None:
            await self.credentials.start()


def reach(enrolment: Enrolment, enrolment_file: Path, data: Path) -> Reach:
    """How the worker of an enrolment reaches its control plane.

    Args:
        enrolment: Where it is.
        enrolment_file: Where that stands; the token is beside it.
        data: The worker's data folder.

    Raises:
        IdentityUnusable: its keys cannot be used.
    """
    if enrolment.gateway is None or enrolment.control_key is None:
        return Reach(
            TemporalAddress(enrolment.temporal, enrolment.namespace),
            Registry(enrolment.releases),
            None,
        )
    gateway = GatewayAddress.parse(enrolment.gateway, enrolment.gateway_ca)
    folder = data / IDENTITY_FOLDER
    who = Enrolee(
        org=enrolment.namespace,
        subject=f"install/{enrolment.install}",
        identity=WorkerIdentity.open(folder),
        gateway=gateway,
        control=ControlKeys.parse(enrolment.control_key),
    )
    proof: Proof = ByToken(enrolment_file.with_name(TOKEN_FILE))
    if enrolment.cloud is not None:
        proof = ByCloud(enrolment.cloud, document_of(enrolment.cloud, enrolment.cloud_audience))
    credentials = Credentials(Enrolling(who, folder, proof))
    tls: TLSConfig | bool = gateway.secure
    if gateway.secure and gateway.ca is not None:
        tls = TLSConfig(server_root_ca_cert=gateway.ca.encode())
    return Reach(
        TemporalAddress(gateway.target, enrolment.namespace, tls, credentials),
        Registry(
            gateway.url,
            auth=credentials.auth,
            trust=gateway.context() if gateway.secure else None,
        ),
        credentials,
    )
