"""Reads from the first bytes of a connection which of HTTP/2 and HTTP/1.1 its client speaks.

A TLS client says so in its ClientHello, in clear (ALPN, RFC 7301). What is read here only chooses
who takes the connection over; the handshake itself is theirs, and checks every byte again.
"""

from enum import Enum

HELLO_BYTES = 32 * 1024
"""A ClientHello has some 300 bytes, or 2,000 with post-quantum keys."""

_HTTP2_PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
_HANDSHAKE_RECORD = 22
_CLIENT_HELLO = 1
_ALPN = 16
_RECORD_BYTES = 16 * 1024 + 256


class Speaks(Enum):
    """What takes a connection over."""

    GRPC = "gRPC"
    HTTP = "HTTP/1.1"


class NoHello(Exception):
    """The connection does not begin as it should."""


def speaks_in_clear(data: bytes) -> Speaks | None:
    """What a client without TLS speaks; None if more bytes are needed."""
    if data.startswith(_HTTP2_PREFACE):
        return Speaks.GRPC
    return None if _HTTP2_PREFACE.startswith(data) else Speaks.HTTP


def speaks_in_tls(data: bytes) -> Speaks | None:
    """What a client offers in its ClientHello; None if more bytes are needed.

    Who offers HTTP/1.1 gets that, as browsers and curl do beside HTTP/2; gRPC offers HTTP/2 alone.

    Raises:
        NoHello: it is none.
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
    """The body of the ClientHello, put together from its records."""
    message = bytearray()
    rest = data
    while True:
        if rest and rest[0] != _HANDSHAKE_RECORD:
            raise NoHello("no TLS handshake")
        if len(message) >= 4:
            if message[0] != _CLIENT_HELLO:
                raise NoHello("a TLS handshake that begins with no ClientHello")
            length = int.from_bytes(message[1:4], "big")
            if length > HELLO_BYTES:
                raise NoHello("a ClientHello that is too long")
            if len(message) >= 4 + length:
                return bytes(message[4 : 4 + length])
        if len(rest) < 5:
            _check_length(data)
            return None
        size = int.from_bytes(rest[3:5], "big")
        if not 0 < size <= _RECORD_BYTES:
            raise NoHello("a TLS record of no possible length")
        if len(rest) < 5 + size:
            _check_length(data)
            return None
        message += rest[5 : 5 + size]
        rest = rest[5 + size :]


def _check_length(data: bytes) -> None:
    if len(data) > HELLO_BYTES:
        raise NoHello("a ClientHello that is too long")


class _Reader:
    """Takes fields off the front of a message; IndexError where it is too short."""

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
        """A field with its length before it."""
        return self.take(self.number(size))


def _offered(hello: _Reader) -> list[bytes]:
    """The protocols of the ALPN extension."""
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
