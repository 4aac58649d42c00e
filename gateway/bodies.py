"""The bytes of a message as they arrive: perhaps compressed, and never larger than allowed.

gRPC would decompress by itself, without a bound: 4 MiB of zeros packed by gzip become 4 GiB in the
memory of this process. So the server is told not to, and it is done here.
"""

import zlib

MESSAGE_BYTES = 4 * 1024 * 1024
"""What Temporal takes as one message."""

_GZIP_MAGIC = b"\x1f\x8b"
# No message begins like this: as a protobuf tag it has a wire type that does not exist.
_GZIP_WINDOW = 31


class TooLarge(Exception):
    """A message is over its limit.

    The message begins as Temporal's own does: by these words the SDK knows that trying again is of
    no use, and fails the activity instead of sending the same bytes for ever.
    """

    def __init__(self, limit: int) -> None:
        super().__init__(
            f"grpc: received message larger than max ({limit} bytes, decompressed): keep large "
            "results out of Temporal"
        )


class NotGzip(Exception):
    """A message begins like gzip and is none."""


def decompressed(body: bytes, limit: int) -> bytes:
    """The message, at most `limit` bytes of it in memory.

    Raises:
        TooLarge: it has more.
        NotGzip: it is damaged.
    """
    if len(body) > limit:
        raise TooLarge(limit)
    if not body.startswith(_GZIP_MAGIC):
        return body
    unpacker = zlib.decompressobj(_GZIP_WINDOW)
    try:
        message = unpacker.decompress(body, limit + 1)
    except zlib.error as error:
        raise NotGzip(f"a message cannot be decompressed: {error}") from error
    if len(message) > limit:
        raise TooLarge(limit)
    if not unpacker.eof:
        raise NotGzip("a message's compressed bytes end too early")
    return message
