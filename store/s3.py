"""A store in an S3 bucket, or in an S3-compatible store that supports conditional requests.

Every put and delete with an etag is one conditional request (If-Match, If-None-Match), so S3
decides who was first. The bucket's settings determine how objects are encrypted. Importing this
module takes some 40 MB, so only processes with such a store import it.
"""

import base64
import contextlib
import hashlib
import secrets
import threading
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Final

import boto3
from botocore.config import Config
from botocore.exceptions import (
    ClientError,
    IncompleteReadError,
    NoCredentialsError,
    ReadTimeoutError,
    ResponseStreamingError,
)

from store.errors import Conflict
from store.interface import ABSENT, ANY, Etag, IfMatch, Object
from store.object_keys import check_key, check_prefix, is_key
from store.s3_errors import explained, is_absent, is_refused_condition
from store.s3_place import S3Place

if TYPE_CHECKING:
    from types_boto3_s3 import S3Client

_CONNECT_SECONDS: Final = 5.0
_READ_SECONDS: Final = 20.0
"""The limit of silence, not of the whole request. A lease is renewed 55 s before its holder would
stop its tool, so a connection that died unnoticed must leave time for another one. The put of a
large object must not time out; S3 answers it within seconds of the last byte."""

_ATTEMPTS: Final = 3
"""Attempts of a request that fails because of the connection, the server (5xx), or its load."""

_CONNECTIONS: Final = 32
"""As many as a worker has threads that use the store."""

_BROKEN_BODY: Final = (IncompleteReadError, ResponseStreamingError, ReadTimeoutError)

_MARK: Final = "exclave-put"
"""Metadata key of each object: a random mark of the put that wrote it."""


class S3Store:
    """The store in a bucket; thread-safe."""

    is_far: Final = True

    def __init__(self, place: S3Place) -> None:
        """Does not connect yet, nor look for credentials."""
        self._place = place
        self._opening = threading.Lock()
        self._opened: S3Client | None = None

    def get(self, key: str) -> Object | None:
        """The object under the key, or None; raises StoreUnavailable."""
        with self._asked(check_key(key)) as client:
            for left in reversed(range(_ATTEMPTS)):
                answer = _unless_absent(client.get_object, self._object(key))
                if answer is None:
                    return None
                try:
                    with contextlib.closing(answer["Body"]) as body:
                        return Object(body.read(), answer["ETag"])
                except _BROKEN_BODY:
                    # The library retries only until an answer begins, not if it breaks off later.
                    if not left:
                        raise
            raise AssertionError("the last attempt returns or raises")

    def put(self, key: str, data: bytes, *, if_match: IfMatch) -> str:
        """Writes the object as a whole and returns its etag; raises Conflict.

        If an answer is lost, the request is sent again, and may be refused because of its own first
        write. So every put marks its object, and looks for that mark when it is refused. If
        somebody else has changed the object since, it is still a Conflict: the caller reads the
        object again, and may make its change a second time.
        """
        mark = secrets.token_hex(8)
        with self._asked(check_key(key)) as client:
            try:
                answer = client.put_object(
                    **self._object(key),
                    Body=data,
                    ContentMD5=_md5(data),
                    Metadata={_MARK: mark},
                    **_condition(if_match),
                )
            except ClientError as error:
                if if_match is ANY or not (is_refused_condition(error) or is_absent(error)):
                    raise
                found = _unless_absent(client.head_object, self._object(key))
                if found is None or found["Metadata"].get(_MARK) != mark:
                    raise Conflict(key) from None
                return str(found["ETag"])
            return answer["ETag"]

    def list(self, prefix: str) -> list[str]:
        """The keys that begin with the prefix, sorted."""
        with self._asked(check_prefix(prefix)) as client:
            pages = client.get_paginator("list_objects_v2").paginate(
                Bucket=self._place.bucket, Prefix=self._place.object_key(prefix)
            )
            keys = [
                self._place.store_key(found["Key"])
                for page in pages
                for found in page.get("Contents", ())
            ]
        return sorted(key for key in keys if is_key(key))

    def delete(self, key: str, *, if_match: Etag = ANY) -> None:
        """Removes the object, if there is one; raises Conflict."""
        with self._asked(check_key(key)) as client:
            try:
                client.delete_object(**self._object(key), **_condition(if_match))
            except ClientError as error:
                if is_absent(error):
                    return
                if not is_refused_condition(error):
                    raise
                # An earlier request, whose answer was lost, may have removed it.
                if _unless_absent(client.head_object, self._object(key)) is not None:
                    raise Conflict(key) from None

    def local_path(self, key: str) -> None:
        """None, since the objects are not files of this machine."""
        check_key(key)

    def s3_place(self) -> S3Place:
        """The place of the store."""
        return self._place

    def close(self) -> None:
        """Closes the connections; the next request opens new ones."""
        with self._opening:
            if self._opened is not None:
                self._opened.close()
            self._opened = None

    def __str__(self) -> str:
        return str(self._place)

    @contextlib.contextmanager
    def _asked(self, key: str) -> Iterator["S3Client"]:
        with explained(self._place, key, self._endpoint):
            try:
                yield self._client()
            except NoCredentialsError:
                # A client looks for credentials only when it is created; the next one looks again.
                self.close()
                raise

    def _client(self) -> "S3Client":
        # Threads may share a client, but only one thread at a time may create clients.
        with self._opening:
            if self._opened is None:
                self._opened = _connect(self._place)
            return self._opened

    def _endpoint(self) -> str:
        return self._opened.meta.endpoint_url if self._opened else self._place.endpoint or "AWS"

    def _object(self, key: str) -> dict[str, Any]:
        return {"Bucket": self._place.bucket, "Key": self._place.object_key(key)}


def _connect(place: S3Place) -> "S3Client":
    session = boto3.Session(region_name=place.region or None)
    return session.client(
        "s3",
        endpoint_url=place.endpoint or None,
        config=Config(
            connect_timeout=_CONNECT_SECONDS,
            read_timeout=_READ_SECONDS,
            retries={"mode": "standard", "total_max_attempts": _ATTEMPTS},
            max_pool_connections=_CONNECTIONS,
            tcp_keepalive=True,
            # S3-compatible stores seldom have a host name for each bucket.
            s3={"addressing_style": "path" if place.endpoint else "auto"},
            # Every such store checks Content-MD5, but some refuse the newer checksums.
            request_checksum_calculation="when_required",
            response_checksum_validation="when_required",
        ),
    )


def _unless_absent(request: Callable[..., Any], object: Mapping[str, str]) -> Any:
    """The answer, or None if there is no object."""
    try:
        return request(**object)
    except ClientError as error:
        if is_absent(error):
            return None
        raise


def _condition(if_match: IfMatch) -> dict[str, Any]:
    if if_match is ANY:
        return {}
    return {"IfNoneMatch": "*"} if if_match is ABSENT else {"IfMatch": if_match}


def _md5(data: bytes) -> str:
    return base64.b64encode(hashlib.md5(data, usedforsecurity=False).digest()).decode()
