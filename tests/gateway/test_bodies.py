"""Messages are decompressed and limited before anybody parses them."""

import gzip

import pytest
from hypothesis import given
from hypothesis import strategies as st
from temporalio.api.workflowservice.v1 import PollActivityTaskQueueRequest

from gateway.bodies import NotGzip, TooLarge, decompressed

LIMIT = 1000


@given(st.text(max_size=200))
def test_a_message_arrives_as_it_was_compressed_or_not(name: str) -> None:
    message = PollActivityTaskQueueRequest(namespace=name).SerializeToString()
    assert decompressed(message, LIMIT) == message
    assert decompressed(gzip.compress(message, mtime=0), LIMIT) == message


def test_a_message_of_exactly_the_limit_is_taken() -> None:
    assert len(decompressed(gzip.compress(b"0" * LIMIT, mtime=0), LIMIT)) == LIMIT


@pytest.mark.parametrize("body", [b"0" * (LIMIT + 1), gzip.compress(b"0" * (LIMIT + 1), mtime=0)])
def test_one_more_byte_is_too_many_in_words_that_the_sdk_knows(body: bytes) -> None:
    with pytest.raises(TooLarge, match=r"^grpc: received message larger than max"):
        decompressed(body, LIMIT)


def test_a_bomb_is_not_unpacked() -> None:
    bomb = gzip.compress(b"0" * 500_000, mtime=0)
    assert len(bomb) < LIMIT
    with pytest.raises(TooLarge):
        decompressed(bomb, LIMIT)


@pytest.mark.parametrize("body", [b"\x1f\x8bnothing", gzip.compress(b"cut off", mtime=0)[:-9]])
def test_damaged_gzip_is_named(body: bytes) -> None:
    with pytest.raises(NotGzip, match="compressed"):
        decompressed(body, LIMIT)
