"""Where the gateway is, and how its certificate is known."""

import re
import ssl
from dataclasses import dataclass
from functools import cached_property

from temporalio.service import TLSConfig

_URL = re.compile(
    r"(?P<scheme>https?)://(?P<host>\[[0-9a-fA-F:.]+\]|[A-Za-z0-9._-]+)(?::(?P<port>[0-9]{1,5}))?/?"
)
_LOOPBACK = ("127.0.0.1", "localhost", "[::1]")


class NoGatewayAddress(ValueError):
    """It cannot be a gateway's address."""


@dataclass(frozen=True)
class GatewayAddress:
    """One address for all that a worker needs."""

    url: str
    """`https://host:port`, or `http://` on this machine alone."""
    ca: str | None = None
    """PEM of the authority that the gateway's certificate is of; else those of the system."""

    @staticmethod
    def parse(url: str, ca: str | None = None) -> "GatewayAddress":
        """Read an address.

        Raises:
            NoGatewayAddress: it is none, or would carry credentials in clear over a network.
        """
        match = _URL.fullmatch(url)
        if match is None or not 0 < int(match["port"] or 443) < 65536:
            raise NoGatewayAddress(
                f"{url!r} is no gateway; write for example https://gateway.example.com"
            )
        if match["scheme"] == "http" and match["host"] not in _LOOPBACK:
            raise NoGatewayAddress(
                f"{url!r} would carry credentials in clear; a gateway is reached by https://"
            )
        return GatewayAddress(url.rstrip("/"), ca)

    @property
    def secure(self) -> bool:
        """Whether it is TLS."""
        return self.url.startswith("https://")

    @property
    def target(self) -> str:
        """`host:port`, as gRPC dials it."""
        host = self.url.partition("://")[2]
        if re.search(r":[0-9]+$", host):
            return host
        return f"{host}:{443 if self.secure else 80}"

    @property
    def host(self) -> str:
        """A name, or an address without brackets."""
        return self.target.rpartition(":")[0].strip("[]")

    @property
    def port(self) -> int:
        """Where it listens."""
        return int(self.target.rpartition(":")[2])

    def tls(self) -> TLSConfig | bool:
        """What gRPC trusts; False where it is spoken in clear."""
        if self.secure and self.ca is not None:
            return TLSConfig(server_root_ca_cert=self.ca.encode())
        return self.secure

    def context(self) -> ssl.SSLContext:
        """What HTTP trusts; one for all that talk to it, since the authorities take 2 MB.

        Raises:
            ssl.SSLError: the authority's certificate is none.
        """
        return self._context

    @cached_property
    def _context(self) -> ssl.SSLContext:
        context = ssl.create_default_context(cadata=self.ca)
        # By this the gateway, and whatever stands before it, tells HTTP from gRPC.
        context.set_alpn_protocols(["http/1.1"])
        return context
