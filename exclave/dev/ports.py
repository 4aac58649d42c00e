"""Finds taken ports before anything is started, since somebody else's server would answer there."""

import errno
import os
import socket
from pathlib import Path

from exclave.dev.declaration import Address, Declaration


class PortTaken(Exception):
    """An address cannot be listened on; the message has one line for each."""


def check_ports(declaration: Declaration, file: Path) -> None:
    """Try every declared address.

    Raises:
        PortTaken: at least one is taken, or cannot be used.
    """
    problems = [
        problem
        for key, address in declaration.addresses.items()
        if (problem := _problem(key, address, file))
    ]
    if problems:
        raise PortTaken("\n".join(problems))


def _problem(key: str, address: Address, file: Path) -> str | None:
    family = socket.AF_INET6 if ":" in address.host else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM) as probe:
        # So connections of a server that has just ended do not count; a listener still does.
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((address.host, address.port))
        except OSError as error:
            if error.errno == errno.EADDRINUSE:
                return (
                    f"port {address.port} is taken on {address.host} by another process; stop it "
                    f"or change {key} in {file}"
                )
            return (
                f"{address} cannot be listened on: {os.strerror(error.errno or 0)}; change {key} "
                f"in {file}"
            )
    return None
