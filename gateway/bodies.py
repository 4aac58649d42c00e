"""Decompresses the bytes of an incoming message, within a limit.

gRPC would decompress without a limit: 4 MiB of gzip can become 4 GiB of zeros in the memory of this
process. So decompression is turned off in the server and done here.
"""

import zlib

MESSAGE_BYTES = 4 * 1024 * 1024
"""The largest message that Temporal accepts."""

_GZIP_MAGIC = b"\x1f\x8b"
# No protobuf message begins with these bytes: the tag would have a wire type that does not exist.
_GZIP_WINDOW = 31


class TooLarge(Exception):
    """A message is over its limit.

    The text begins like Temporal's own. The SDK recognizes it, and fails the activity instead of
    sending the same bytes again for ever.
    """

    def __init__(self, limit: int) -> None:
        super().__init__(
            f"grpc: received message larger than max ({limit} bytes, decompressed): keep large "
            "results out of Temporal"
        )


class NotGzip(Exception):
    """A message begins like gzip but is not valid."""


def decompressed(body: bytes, limit: int) -> bytes:
    """The decompressed message; never holds more than `limit` bytes of it in memory.

    Raises:
        TooLarge: the message has more than `limit` bytes.
        NotGzip: the compressed data is damaged.
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
