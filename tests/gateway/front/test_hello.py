"""The protocol is recognized in the first bytes that real clients send."""

import ssl

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.front.hello import HELLO_BYTES, NoHello, Speaks, speaks_in_clear, speaks_in_tls

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"


def client_hello(*protocols: str) -> bytes:
    """The first bytes that Python's TLS sends."""
    context = ssl.create_default_context()
    if protocols:
        context.set_alpn_protocols(list(protocols))
    sent = ssl.MemoryBIO()
    connection = context.wrap_bio(ssl.MemoryBIO(), sent, server_hostname="localhost")
    with pytest.raises(ssl.SSLWantReadError):
        connection.do_handshake()
    return sent.read()


def in_records(hello: bytes, size: int) -> bytes:
    """The same message in records of at most `size` bytes."""
    head, body = hello[:3], hello[5:]
    pieces = [body[at : at + size] for at in range(0, len(body), size)]
    return b"".join(head + len(piece).to_bytes(2, "big") + piece for piece in pieces)


@pytest.mark.parametrize(
    ("protocols", "speaks"),
    [
        (("h2",), Speaks.GRPC),
        (("grpc-exp", "h2"), Speaks.GRPC),
        (("h2", "http/1.1"), Speaks.HTTP),
        (("http/1.1",), Speaks.HTTP),
        (("something",), Speaks.HTTP),
        ((), Speaks.HTTP),
    ],
)
def test_http_1_is_preferred_where_it_is_offered(
    protocols: tuple[str, ...], speaks: Speaks
) -> None:
    hello = client_hello(*protocols)
    assert speaks_in_tls(hello) is speaks
    assert speaks_in_tls(in_records(hello, 50)) is speaks


def test_every_part_of_it_is_too_little() -> None:
    hello = client_hello("h2")
    assert all(speaks_in_tls(hello[:length]) is None for length in range(len(hello)))


def test_what_comes_behind_it_does_not_matter() -> None:
    assert speaks_in_tls(client_hello("h2") + b"\x17\x03\x03\x00\x05later") is Speaks.GRPC


@pytest.mark.parametrize(
    "data",
    [
        b"GET / HTTP/1.1\r\n",
        PREFACE,
        b"\x16\x03\x01\x00\x00",
        b"\x16\x03\x01\xff\xff",
        b"\x16\x03\x01\x00\x04\x02\x00\x00\x00",
        b"\x16\x03\x01\x00\x04\x01\xff\xff\xff",
        b"\x16\x03\x01\x00\x05\x01\x00\x00\x01\x00",
    ],
)
def test_what_is_no_hello_is_refused(data: bytes) -> None:
    with pytest.raises(NoHello):
        speaks_in_tls(data)


@given(st.binary(max_size=400))
def test_nothing_else_can_happen(data: bytes) -> None:
    for first in (data, b"\x16\x03\x01" + len(data).to_bytes(2, "big") + data):
        try:
            assert speaks_in_tls(first) in (None, Speaks.GRPC, Speaks.HTTP)
        except NoHello:
            continue


@pytest.mark.parametrize("size", [1, 16_000])
def test_it_is_not_waited_for_without_end(size: int) -> None:
    long = in_records(b"\x16\x03\x01\x00\x00" + b"\x01\x00\x3f\xf0" + bytes(HELLO_BYTES), size)
    with pytest.raises(NoHello, match="too"):
        speaks_in_tls(long[: HELLO_BYTES + 1])


def test_without_tls_the_preface_decides() -> None:
    assert speaks_in_clear(PREFACE) is Speaks.GRPC
    assert speaks_in_clear(PREFACE[:10]) is None
    assert speaks_in_clear(b"GET / HTTP/1.1\r\n") is Speaks.HTTP
    assert speaks_in_clear(b"POST") is Speaks.HTTP
    assert speaks_in_clear(b"P") is None
