"""Where a worker's traces are sent to."""

import ssl
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from wire.network.httpx_parts import Renewed


@dataclass(frozen=True)
class TraceIntake:
    """Where traces are sent to."""

    url: str
    credentials: "Renewed"
    """Each request shows the newest."""
    trust: ssl.SSLContext | None
