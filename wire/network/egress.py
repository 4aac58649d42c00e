"""The way out of a network: the proxy, configured by the same variables as for every other tool.

Only this module reads `HTTPS_PROXY`, `HTTP_PROXY` and `NO_PROXY` (also in lower case), so that gRPC
and HTTP take the same way. This machine itself is never reached through a proxy.
"""

import base64
import ipaddress
import os
import re
from collections.abc import Mapping, MutableMapping
from dataclasses import dataclass, field
from typing import Final
from urllib.parse import unquote, urlsplit

from temporalio.service import HttpConnectProxyConfig

NEVER_PROXIED: Final = (
    "localhost",
    "127.0.0.1",
    "::1",
    "169.254.169.254",
    "metadata.google.internal",
)
"""This machine, and its cloud's metadata service, which vouches for whichever machine asks it."""

_PROXY = re.compile(
    r"(?:(?P<scheme>[a-z0-9+.-]+)://)?(?:(?P<user>[^:@/]*)(?::(?P<password>[^@/]*))?@)?"
    r"(?P<host>\[[0-9a-fA-F:.]+\]|[A-Za-z0-9._-]+)(?::(?P<port>[0-9]{1,5}))?/?",
    re.IGNORECASE,
)
_VARIABLES = ("https_proxy", "HTTPS_PROXY", "http_proxy", "HTTP_PROXY")


class ProxyUnusable(ValueError):
    """A proxy variable is unusable; the message contains neither user nor password."""


@dataclass(frozen=True)
class Proxy:
    """An HTTP proxy, which opens tunnels by CONNECT."""

    host: str
    """Without the brackets of an IPv6 address."""
    port: int
    user: str = field(default="", repr=False)
    password: str = field(default="", repr=False)

    @staticmethod
    def parse(text: str, variable: str) -> "Proxy":
        """Read a variable's value.

        Raises:
            ProxyUnusable: it is not a proxy's address, or gRPC does not support its scheme.
        """
        match = _PROXY.fullmatch(text.strip())
        if match is None or not 0 < int(match["port"] or 80) < 65536:
            raise ProxyUnusable(
                f"{variable} is not a proxy's address; write for example "
                "http://proxy.example.com:80 (in a user or password, write characters such as "
                "@ : / as %40 %3A %2F)"
            )
        if (match["scheme"] or "http").lower() != "http":
            raise ProxyUnusable(
                f"{variable} names a proxy with {match['scheme']}://, which gRPC does not support; "
                "use the proxy's http:// address (the traffic through it is TLS anyway)"
            )
        return Proxy(
            match["host"].strip("[]"),
            int(match["port"] or 80),
            unquote(match["user"] or ""),
            unquote(match["password"] or ""),
        )

    @property
    def address(self) -> str:
        """`host:port`, without user and password."""
        return host_and_port(self.host, self.port)

    @property
    def login(self) -> tuple[str, str] | None:
        """User and password, if it has any; secret."""
        return (self.user, self.password) if self.user or self.password else None

    def for_grpc(self) -> HttpConnectProxyConfig:
        """As the SDK expects it."""
        return HttpConnectProxyConfig(self.address, self.login)

    def headers(self) -> dict[str, str]:
        """The headers of a CONNECT request."""
        if self.login is None:
            return {}
        word = base64.b64encode(":".join(self.login).encode()).decode()
        return {"Proxy-Authorization": f"Basic {word}"}


def host_and_port(host: str, port: int) -> str:
    """`host:port`, with an IPv6 address in brackets."""
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def proxy_to(
    host: str, *, secure: bool = True, environment: Mapping[str, str] = os.environ
) -> Proxy | None:
    """The proxy through which a host is reached; None if it is reached directly.

    Args:
        host: A name, or an address with or without brackets.
        secure: Whether it is reached by TLS or gRPC, rather than by plain HTTP.
        environment: Contains the proxy variables.

    Raises:
        ProxyUnusable: see its name.
    """
    host = host.strip("[]").lower().rstrip(".")
    if _is_excepted(host, environment):
        return None
    for variable in _VARIABLES[:2] if secure else _VARIABLES[2:]:
        if environment.get(variable):
            return Proxy.parse(environment[variable], variable)
    return None


def proxy_for(url: str) -> Proxy | None:
    """The proxy for a URL; raises like `proxy_to`."""
    parsed = urlsplit(url)
    return proxy_to(parsed.hostname or "", secure=parsed.scheme == "https")


def except_this_machine(environment: MutableMapping[str, str] = os.environ) -> None:
    """Make every tool reach this machine, and its cloud's metadata service, without the proxy."""
    if not any(environment.get(name) for name in _VARIABLES):
        return
    entries = _no_proxy(environment)
    entries += [one for one in NEVER_PROXIED if one not in entries]
    # Some tools read the one variable, and some the other.
    environment["NO_PROXY"] = environment["no_proxy"] = ",".join(entries)


def secrets_of_proxies(environment: Mapping[str, str] = os.environ) -> list[str]:
    """The passwords in the proxy variables, which must be masked."""
    found: list[str] = []
    for variable in _VARIABLES:
        match = _PROXY.fullmatch(environment.get(variable, "").strip())
        if match and match["password"]:
            found += [match["password"], unquote(match["password"])]
    return list(dict.fromkeys(found))


def _no_proxy(environment: Mapping[str, str]) -> list[str]:
    text = ",".join(environment.get(name, "") for name in ("no_proxy", "NO_PROXY"))
    return list(dict.fromkeys(one for one in re.split(r"[,\s]+", text.lower()) if one))


def _is_excepted(host: str, environment: Mapping[str, str]) -> bool:
    address = _address(host)
    if host in NEVER_PROXIED or (address is not None and address.is_loopback):
        return True
    return any(_excepts(entry, host, address) for entry in _no_proxy(environment))


def _excepts(
    entry: str, host: str, address: ipaddress.IPv4Address | ipaddress.IPv6Address | None
) -> bool:
    """Reads an entry as Go and curl do: a name includes its subdomains, an address may be a net."""
    if entry == "*":
        return True
    if address is None:
        name = entry.partition(":")[0].removeprefix("*").strip(".")
        return bool(name) and (host == name or host.endswith(f".{name}"))
    try:
        return address in ipaddress.ip_network(entry.strip("[]"), strict=False)
    except ValueError:
        return False


def _address(host: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        return ipaddress.ip_address(host)
    except ValueError:
        return None
