"""Downloads a large blob into a file, and resumes where a connection broke."""

import hashlib
import os
import re
import tempfile
import time
from pathlib import Path
from typing import BinaryIO

import httpx

from artifacts.errors import (
    ArtifactMissing,
    ArtifactTooLarge,
    DigestMismatch,
    RegistryRefused,
    RegistryUnreachable,
)
from artifacts.transport import Transport
from wire.private_files import make_private_folder, move_whole

FRUITLESS_ATTEMPTS = 3
"""How many connections in a row may deliver nothing before the download fails."""

_FIRST_PAUSE_SECONDS = 0.05
_CONTENT_RANGE = re.compile(r"bytes (\d+)-\d+/(?:\d+|\*)")


class Download:
    """The download of one blob, into a temporary file beside its destination."""

    def __init__(self, transport: Transport, url: httpx.URL, what: str, limit: int) -> None:
        """Prepare to fetch `url`, at most `limit` bytes; errors call it `what`."""
        self._transport = transport
        self._url = url
        self._what = what
        self._limit = limit
        self._size = 0
        self._hash = hashlib.sha256()

    def run(self, digest: str, destination: Path) -> None:
        """Fetch the blob, check its digest and move it in place; leaves nothing behind on an error.

        Raises:
            ArtifactMissing, RegistryRefused, DigestMismatch, ArtifactTooLarge: see their names.
            RegistryUnreachable: several connections in a row delivered nothing.
        """
        make_private_folder(destination.parent)
        # Mode 0600, by mkstemp; beside the destination, so that the rename is atomic.
        descriptor, name = tempfile.mkstemp(prefix=".fetch-", dir=destination.parent)
        partial = Path(name)
        try:
            with os.fdopen(descriptor, "w+b") as file:
                self._fill(file)
                file.flush()
                os.fsync(descriptor)
            actual = f"sha256:{self._hash.hexdigest()}"
            if actual != digest:
                raise DigestMismatch(self._what, actual)
            move_whole(partial, destination)
        finally:
            partial.unlink(missing_ok=True)

    def _fill(self, file: BinaryIO) -> None:
        fruitless = 0
        while True:
            begun = self._size
            try:
                self._take(file)
                return
            except RegistryUnreachable:
                fruitless = 0 if self._size > begun else fruitless + 1
                if fruitless >= FRUITLESS_ATTEMPTS:
                    raise
                time.sleep(_FIRST_PAUSE_SECONDS * 4**fruitless)

    def _take(self, file: BinaryIO) -> None:
        """Read what one connection delivers, from where the last one ended."""
        headers = {"Accept-Encoding": "identity"}
        if self._size:
            headers["Range"] = f"bytes={self._size}-"
        with self._transport.stream("GET", self._url, headers=headers) as response:
            status = response.status_code
            if status == httpx.codes.NOT_FOUND:
                raise ArtifactMissing(self._what, self._transport.address)
            if self._size and status == httpx.codes.REQUESTED_RANGE_NOT_SATISFIABLE:
                return  # Probably it broke after the last byte; the digest check will show.
            self._transport.expect_success(response)
            self._align(file, response)
            # Without a chunk size: its buffer would lose data when the connection breaks.
            for piece in response.iter_raw():
                if self._size + len(piece) > self._limit:
                    raise ArtifactTooLarge(self._what, self._limit)
                file.write(piece)
                self._hash.update(piece)
                self._size += len(piece)

    def _align(self, file: BinaryIO, response: httpx.Response) -> None:
        """Start over if the registry does not resume where the last connection ended."""
        start = 0
        if response.status_code == httpx.codes.PARTIAL_CONTENT:
            match = _CONTENT_RANGE.fullmatch(response.headers.get("Content-Range", ""))
            start = int(match[1]) if match else -1
        if start not in (0, self._size):
            raise RegistryRefused(
                response.status_code,
                f"it sent data from byte {start} on instead of {self._size}",
                f"a range of {self._what}",
            )
        if start != self._size:
            file.seek(0)
            file.truncate()
            self._hash = hashlib.sha256()
            self._size = 0
