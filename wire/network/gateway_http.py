"""Sends a request to the gateway on a new connection, using only the standard library.

A worker asks for a credential every few minutes, and is idle in between. An HTTP library with
pooled connections would occupy 3 MB of it all the time.
"""

import http.client
import socket
import ssl
from contextlib import closing
from dataclasses import dataclass
from typing import Final

from wire.network.egress import Proxy, host_and_port, proxy_for
from wire.network.gateway_address import GatewayAddress
from wire.network.proxy_tunnel import ask_for_tunnel

SECONDS: Final = 30.0
"""For each step: connecting, and each wait for the next bytes."""
_LIMIT_BYTES: Final = 1024 * 1024
"""A gateway's answers are all shorter."""


class NoAnswer(Exception):
    """No HTTP answer came back; the message says why."""


@dataclass(frozen=True)
class HttpAnswer:
    """The answer to a request."""

    status: int
    content: bytes


def post(gateway: GatewayAddress, path: str, body: bytes) -> HttpAnswer:
    """Send JSON, only to this gateway: redirects are not followed. Blocks.

    Raises:
        NoAnswer: nothing came back, or the other side's certificate is not trusted.
        ProxyUnusable: see its name.
    """
    proxy = proxy_for(gateway.url)
    try:
        with closing(_connected(gateway, proxy)) as connection:
            connection.request("POST", path, body, {"Content-Type": "application/json"})
            answer = connection.getresponse()
            content = answer.read(_LIMIT_BYTES + 1)
    # Impossible host names raise UnicodeError.
    except (OSError, http.client.HTTPException, UnicodeError) as error:
        raise NoAnswer(_reason(error)) from error
    if len(content) > _LIMIT_BYTES:
        raise NoAnswer("the answer is too long")
    return HttpAnswer(answer.status, content)


def _connected(gateway: GatewayAddress, proxy: Proxy | None) -> http.client.HTTPConnection:
    host, port = gateway.host, gateway.port
    dialled = (proxy.host, proxy.port) if proxy else (host, port)
    connected = socket.create_connection(dialled, timeout=SECONDS)
    try:
        if proxy is not None:
            status, _ = ask_for_tunnel(connected, host_and_port(host, port), proxy)
            if status != http.client.OK:
                raise NoAnswer(f"the proxy {proxy.address} answers {status}")
        if not gateway.secure:
            connection = http.client.HTTPConnection(host, port)
        else:
            trust = gateway.context()
            connected = trust.wrap_socket(connected, server_hostname=host)
            connection = http.client.HTTPSConnection(host, port, context=trust)
    except BaseException:
        connected.close()
        raise
    connection.sock = connected
    return connection


def _reason(error: Exception) -> str:
    if isinstance(error, ssl.SSLCertVerificationError):
        return f"its certificate is not trusted: {error.verify_message}"
    return f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
