"""Reads from the first bytes of a connection whether its client speaks HTTP/2 or HTTP/1.1.

A TLS client says so in its ClientHello, unencrypted (ALPN, RFC 7301). What is read here only
selects the inner server; that server performs the handshake, and checks every byte again.
"""

from enum import Enum

HELLO_BYTES = 16 * 1024
"""The largest ClientHello accepted; usual are 300 bytes, or 2,000 with post-quantum keys."""

_HTTP2_PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
_HANDSHAKE_RECORD = b"\x16"
_RECORD_HEAD_BYTES = 5
_CLIENT_HELLO = 1
_ALPN = 16
_RECORD_BYTES = 16 * 1024 + 256
_RECORDS = 32
"""How many records a ClientHello may be split into; one or two are usual."""


class Speaks(Enum):
    """The protocol of a connection, which selects the inner server."""

    GRPC = "gRPC"
    HTTP = "HTTP/1.1"


class NoHello(Exception):
    """The connection does not begin with a valid ClientHello."""


def speaks_in_clear(data: bytes) -> Speaks | None:
    """The protocol of a client without TLS; None if more bytes are needed."""
    if data.startswith(_HTTP2_PREFACE):
        return Speaks.GRPC
    return None if _HTTP2_PREFACE.startswith(data) else Speaks.HTTP


def speaks_in_tls(data: bytes) -> Speaks | None:
    """The protocol for what a client offers in its ClientHello; None if more bytes are needed.

    A client that offers HTTP/1.1 gets it: browsers and curl offer it beside HTTP/2, but gRPC
    clients offer only HTTP/2.

    Raises:
        NoHello: the data is not a ClientHello.
    """
    hello = _hello(data)
    if hello is None:
        return None
    try:
        protocols = _offered(_Reader(hello))
    except IndexError as error:
        raise NoHello("a ClientHello that ends too early") from error
    if b"h2" in protocols and b"http/1.1" not in protocols:
        return Speaks.GRPC
    return Speaks.HTTP


def _hello(data: bytes) -> bytes | None:
    """The body of the ClientHello, joined from its records; None if more bytes are needed."""
    if len(data) > HELLO_BYTES:
        raise NoHello("a ClientHello that is too long")
    message = bytearray()
    at = 0
    # Runs again for each piece that arrives, so it must stay cheap for pieces of one byte.
    for _ in range(_RECORDS):
        if data[at : at + 1] not in (b"", _HANDSHAKE_RECORD):
            raise NoHello("no TLS handshake")
        begins = at + _RECORD_HEAD_BYTES
        if len(data) < begins:
            return None
        size = int.from_bytes(data[begins - 2 : begins], "big")
        if not 0 < size <= _RECORD_BYTES:
            raise NoHello("a TLS record of no possible length")
        if len(data) < begins + size:
            return None
        at = begins + size
        message += data[begins:at]
        hello = _whole(message)
        if hello is not None:
            return hello
    raise NoHello("a ClientHello in too many pieces")


def _whole(message: bytearray) -> bytes | None:
    """The body of a handshake message; None if it is not complete yet."""
    if len(message) < 4:
        return None
    if message[0] != _CLIENT_HELLO:
        raise NoHello("a TLS handshake that begins with no ClientHello")
    length = int.from_bytes(message[1:4], "big")
    if length > HELLO_BYTES:
        raise NoHello("a ClientHello that is too long")
    return bytes(message[4 : 4 + length]) if len(message) >= 4 + length else None


class _Reader:
    """Reads the fields of a message in turn; raises IndexError if it is too short."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0

    def __bool__(self) -> bool:
        return self._at < len(self._data)

    def take(self, count: int) -> bytes:
        end = self._at + count
        if end > len(self._data):
            raise IndexError
        taken = self._data[self._at : end]
        self._at = end
        return taken

    def number(self, size: int) -> int:
        return int.from_bytes(self.take(size), "big")

    def vector(self, size: int) -> bytes:
        """A field that is preceded by its length in `size` bytes."""
        return self.take(self.number(size))


def _offered(hello: _Reader) -> list[bytes]:
    """The protocols in the ALPN extension."""
    hello.take(2 + 32)  # version, random
    hello.vector(1)  # session id
    hello.vector(2)  # cipher suites
    hello.vector(1)  # compression methods
    if not hello:
        return []
    extensions = _Reader(hello.vector(2))
    while extensions:
        kind, value = extensions.number(2), extensions.vector(2)
        if kind == _ALPN:
            names = _Reader(_Reader(value).vector(2))
            found = []
            while names:
                found.append(names.vector(1))
            return found
    return []
