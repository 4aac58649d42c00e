"""Asks an HTTP proxy for a tunnel, over an open connection."""

import http.client
import socket
from contextlib import closing

from wire.network.egress import Proxy


def ask_for_tunnel(connection: socket.socket, to: str, proxy: Proxy) -> tuple[int, str]:
    """The status and reason of the proxy's answer; with 200 the tunnel is open. Blocks.

    Args:
        connection: The connection to the proxy.
        to: `host:port` of the tunnel's other end.
        proxy: The proxy, with its user and password.

    Raises:
        OSError: the connection broke.
        HTTPException: the answer is not HTTP.
    """
    asked = {"Host": to, **proxy.headers()}
    lines = [f"CONNECT {to} HTTP/1.1", *(f"{name}: {value}" for name, value in asked.items())]
    connection.sendall(("\r\n".join(lines) + "\r\n\r\n").encode())
    with closing(http.client.HTTPResponse(connection, method="CONNECT")) as answer:
        answer.begin()
        return answer.status, answer.reason
