"""Receives a request's body into an upload, writing the file in threads."""

import asyncio
import re
from contextlib import ExitStack

from starlette.requests import Request

from artifacts.names import CHUNK_BYTES
from artifacts.uploads import Upload, UploadRefused

_RANGE = re.compile(r"(?:bytes[ =])?(\d+)-(\d+)(?:/(?:\d+|\*))?")


async def receive_into(upload: Upload, request: Request) -> None:
    """Append the body to the upload; its `Content-Range`, if any, must begin at the upload's end.

    Raises:
        UploadRefused: it begins elsewhere, or another request is writing the upload.
        UploadUnknown: the upload was finished in between.
        TooLarge: the blob is over its limit.
        ClientDisconnect: the client went away; what had arrived stays in the upload.
    """
    offset = _offset(request.headers.get("Content-Range"))
    with ExitStack() as stack:
        writer = await asyncio.to_thread(stack.enter_context, upload.writing(offset))
        pending = bytearray()
        try:
            async for piece in request.stream():
                pending += piece
                if len(pending) >= CHUNK_BYTES:
                    await asyncio.to_thread(writer.write, bytes(pending))
                    pending.clear()
        finally:
            if pending:
                await asyncio.to_thread(writer.write, bytes(pending))


def _offset(content_range: str | None) -> int | None:
    if content_range is None:
        return None
    match = _RANGE.fullmatch(content_range.strip())
    if match is None:
        raise UploadRefused(f"Content-Range {content_range[:100]!r} is not <first>-<last>")
    return int(match[1])
