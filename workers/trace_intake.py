"""The address to which a worker's traces are sent."""

import ssl
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from wire.network.httpx_parts import Renewed


@dataclass(frozen=True)
class TraceIntake:
    """The gateway's endpoint for traces."""

    url: str
    credentials: "Renewed"
    """Gives each request the newest credential."""
    trust: ssl.SSLContext | None
