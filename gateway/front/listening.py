"""Binds an address, so that a port that is taken is known before anything serves."""

import os
import socket


class CannotListen(Exception):
    """An address cannot be listened on; the message says why, and what to do."""


def listen(address: str, who: str) -> socket.socket:
    """Bind `HOST:PORT`.

    Args:
        address: Where; port 0 for any that is free.
        who: For the message, for example `the gateway`.

    Raises:
        CannotListen: the address is malformed, or the port cannot be had.
    """
    host, _, port = address.rpartition(":")
    host = host.strip("[]")
    if not host or not port.isdecimal():
        raise CannotListen(f"{address!r} is no address; write HOST:PORT")
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # With the protocol named, asyncio sets TCP_NODELAY; without it each body waits 40 ms for the
    # acknowledgement of its headers.
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
