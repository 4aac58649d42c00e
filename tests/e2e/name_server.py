"""A name server that knows one name, and asks nobody else."""

import ipaddress
import socket
import struct
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from tests.e2e.namespaces import Namespace

_A, _AAAA, _INTERNET = 1, 28, 1
_ANSWER, _NO_SUCH_NAME = 0x8580, 0x8583
_POINTS_TO_THE_QUESTION = 0xC00C


@dataclass
class NameServer:
    """What it answers may be changed while it runs."""

    name: str
    addresses: list[str]
    seconds: int = 1
    """How long an answer may be kept."""
    asked: list[int] = field(default_factory=list)
    """The types of record that were asked for, in order."""

    def serve(self, endpoint: socket.socket) -> None:
        while True:
            question, who = endpoint.recvfrom(512)
            if not question:
                return
            endpoint.sendto(self.answer(question), who)

    def answer(self, question: bytes) -> bytes:
        labels, at = [], 12
        while length := question[at]:
            labels.append(question[at + 1 : at + 1 + length].decode())
            at += 1 + length
        kind = struct.unpack_from("!H", question, at + 1)[0]
        found = []
        if ".".join(labels).lower() == self.name:
            self.asked.append(kind)
            flags = _ANSWER
            parsed = [ipaddress.ip_address(one) for one in self.addresses]
            found = [one.packed for one in parsed if kind == (_A if one.version == 4 else _AAAA)]
        else:
            flags = _NO_SUCH_NAME
        head = question[:2] + struct.pack("!HHHHH", flags, 1, len(found), 0, 0)
        records = [
            struct.pack(
                "!HHHIH", _POINTS_TO_THE_QUESTION, kind, _INTERNET, self.seconds, len(address)
            )
            + address
            for address in found
        ]
        return head + question[12 : at + 5] + b"".join(records)


@contextmanager
def name_server(namespace: Namespace, address: str, server: NameServer) -> Iterator[NameServer]:
    """Serve at port 53 of an address of the namespace."""

    def bound(port: int) -> socket.socket:
        family = socket.AF_INET6 if ":" in address else socket.AF_INET
        endpoint = socket.socket(family, socket.SOCK_DGRAM)
        endpoint.bind((address, port))
        return endpoint

    with namespace.inside(lambda: bound(53)) as endpoint:
        thread = threading.Thread(target=server.serve, args=(endpoint,))
        thread.start()
        try:
            yield server
        finally:
            with namespace.inside(lambda: bound(0)) as last:
                last.sendto(b"", (address, 53))
            thread.join()
