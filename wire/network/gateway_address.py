"""The gateway's address, and how its certificate is verified."""

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
    """This is not a gateway's address."""


@dataclass(frozen=True)
class GatewayAddress:
    """The one address that a worker needs."""

    url: str
    """`https://host:port`; `http://` only on this machine."""
    ca: str | None = None
    """PEM of the authority that signed the gateway's certificate; by default, the system's."""

    @staticmethod
    def parse(url: str, ca: str | None = None) -> "GatewayAddress":
        """Read an address.

        Raises:
            NoGatewayAddress: it is not an address, or would send credentials unencrypted over a
                network.
        """
        match = _URL.fullmatch(url)
        if match is None or not 0 < int(match["port"] or 443) < 65536:
            raise NoGatewayAddress(
                f"{url!r} is not a gateway; write for example https://gateway.example.com"
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
        """The port that it listens on."""
        return int(self.target.rpartition(":")[2])

    def tls(self) -> TLSConfig | bool:
        """The TLS settings for gRPC; False without TLS."""
        if self.secure and self.ca is not None:
            return TLSConfig(server_root_ca_cert=self.ca.encode())
        return self.secure

    def context(self) -> ssl.SSLContext:
        """The TLS context for HTTP; shared by all callers, since the authorities take 2 MB.

        Raises:
            ssl.SSLError: the authority is not a valid certificate.
        """
        return self._context

    @cached_property
    def _context(self) -> ssl.SSLContext:
        context = ssl.create_default_context(cadata=self.ca)
        # With this the gateway, and any load balancer in front of it, can tell HTTP from gRPC.
        context.set_alpn_protocols(["http/1.1"])
        return context
