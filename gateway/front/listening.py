"""Binds an address before anything serves, so that a port already in use is noticed at once."""

import os
import socket


class CannotListen(Exception):
    """It is impossible to listen on an address; the message says why, and what to do."""


def listen(address: str, who: str) -> socket.socket:
    """Bind `HOST:PORT`.

    Args:
        address: The address; port 0 chooses a free port.
        who: Who wants to listen, for the message; for example `the gateway`.

    Raises:
        CannotListen: the address is malformed, or the port cannot be bound.
    """
    host, _, port = address.rpartition(":")
    host = host.strip("[]")
    if not host or not port.isdecimal():
        raise CannotListen(f"{address!r} is not an address; write HOST:PORT")
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # asyncio sets TCP_NODELAY only if the protocol is named; without it each body would wait 40 ms
    # for the acknowledgement of its headers.
    listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((host, int(port)))
    except (OSError, OverflowError) as error:
        listener.close()
        why = os.strerror(error.errno) if isinstance(error, OSError) and error.errno else error
        raise CannotListen(
            f"{who} cannot listen on {address}: {why}; stop what listens there, or choose another "
            "port"
        ) from error
    return listener
