"""A middlebox that forgets connections that are silent, as NAT tables and firewalls do.

From then on their packets vanish, in both directions, and neither end is told.
"""

import socket
import struct
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from tests.e2e.namespaces import Namespace

_EVERYTHING = 0x0003
_IPV4, _IPV6, _TCP = 0x0800, 0x86DD, 6
_LOOKS_EVERY_SECONDS = 0.5


@dataclass
class Middlebox:
    """On a router's link; each connection is known by the port of its end on that link's side."""

    namespace: Namespace
    link: str
    silence: float
    """After how many seconds without a packet."""
    forgotten: list[int] = field(default_factory=list)
    _moved: dict[int, float] = field(default_factory=dict)
    _ends: threading.Event = field(default_factory=threading.Event)

    def run(self, taps: socket.socket) -> None:
        taps.settimeout(_LOOKS_EVERY_SECONDS)
        while not self._ends.is_set():
            try:
                packet, (_, protocol, direction, *_) = taps.recvfrom(128)
            except TimeoutError:
                pass
            else:
                self._saw(packet, protocol, outgoing=direction == socket.PACKET_OUTGOING)
            now = time.monotonic()
            for port in [one for one, at in self._moved.items() if now - at > self.silence]:
                del self._moved[port]
                self._forget(port)

    def _saw(self, packet: bytes, protocol: int, *, outgoing: bool) -> None:
        if protocol == _IPV4 and packet[9] == _TCP:
            head = 4 * (packet[0] & 0x0F)
        elif protocol == _IPV6 and packet[6] == _TCP:
            head = 40
        else:
            return
        source, target = struct.unpack_from("!HH", packet, head)
        port = target if outgoing else source
        if port not in self.forgotten:
            self._moved[port] = time.monotonic()

    def _forget(self, port: int) -> None:
        self.forgotten.append(port)
        for family in ("-4", "-6"):
            for side in ("sport", "dport"):
                rule = ("pref", "2", "ipproto", "tcp", side, str(port), "blackhole")
                self.namespace.ip(family, "rule", "add", *rule)

    def end(self) -> None:
        self._ends.set()


@contextmanager
def middlebox(namespace: Namespace, link: str, silence: float) -> Iterator[Middlebox]:
    def tap() -> socket.socket:
        taps = socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM, socket.htons(_EVERYTHING))
        taps.bind((link, _EVERYTHING))
        return taps

    one = Middlebox(namespace, link, silence)
    with namespace.inside(tap) as taps:
        thread = threading.Thread(target=one.run, args=(taps,))
        thread.start()
        try:
            yield one
        finally:
            one.end()
            thread.join()
