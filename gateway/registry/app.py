"""Serves a folder of OCI layouts as a registry: the OCI distribution API, version 2.

Two listeners may serve one folder: a writable one for builds, and a read-only one for workers. This
module authorizes nobody; that has to happen in front of the app made here.
"""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import FileResponse, JSONResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from artifacts.layout import BlobUnknown, Layout, ManifestUnknown, ReferenceUnknown, Repository
from artifacts.manifests import MANIFEST_LIMIT_BYTES, InvalidManifest, parse_manifest
from artifacts.names import InvalidDigest, InvalidName
from artifacts.uploads import TooLarge, Upload, UploadRefused, UploadUnknown, WrongDigest
from gateway.registry.answers import VERSION, error_answer
from gateway.registry.uploads import receive_into

_OCTETS = "application/octet-stream"
_READ = ["GET", "HEAD"]

# The status and the specification's code for each of our errors.
_ANSWERS: dict[type[Exception], tuple[int, str]] = {
    BlobUnknown: (404, "BLOB_UNKNOWN"),
    ManifestUnknown: (404, "MANIFEST_UNKNOWN"),
    ReferenceUnknown: (404, "MANIFEST_BLOB_UNKNOWN"),
    UploadUnknown: (404, "BLOB_UPLOAD_UNKNOWN"),
    UploadRefused: (416, "BLOB_UPLOAD_INVALID"),
    InvalidManifest: (400, "MANIFEST_INVALID"),
    InvalidName: (400, "NAME_INVALID"),
    InvalidDigest: (400, "DIGEST_INVALID"),
    WrongDigest: (400, "DIGEST_INVALID"),
    TooLarge: (413, "SIZE_INVALID"),
}


def registry_app(layout: Layout, writable: bool) -> ASGIApp:
    """The registry as an ASGI app, to be mounted at the root of a listener.

    Args:
        layout: what is served; its `blob_limit` applies to uploads.
        writable: whether pushes are allowed; otherwise everything but GET and HEAD is refused.
    """
    reading = _Reading(layout)
    routes = [
        Route("/v2/", _version, methods=_READ),
        Route("/v2/{name:path}/tags/list", reading.tags, methods=_READ),
    ]
    if writable:
        writing = _Writing(layout)
        one_upload = "/v2/{name:path}/blobs/uploads/{upload}"
        routes += [
            Route("/v2/{name:path}/blobs/uploads/", writing.start, methods=["POST"]),
            Route(one_upload, writing.state, methods=["GET"]),
            Route(one_upload, writing.add, methods=["PATCH"]),
            Route(one_upload, writing.finish, methods=["PUT"]),
            Route(one_upload, writing.discard, methods=["DELETE"]),
            Route("/v2/{name:path}/manifests/{reference}", writing.manifest, methods=["PUT"]),
        ]
    routes += [
        Route("/v2/{name:path}/manifests/{reference}", reading.manifest, methods=_READ),
        Route("/v2/{name:path}/blobs/{digest}", reading.blob, methods=_READ),
    ]
    handlers: dict[Any, Callable[[Request, Exception], Awaitable[Response]]] = {
        **dict.fromkeys(_ANSWERS, _known_error),
        HTTPException: _other_error,
        ClientDisconnect: _gone,
    }
    app = Starlette(routes=routes, exception_handlers=handlers)
    return app if writable else _ReadOnly(app)


class _ReadOnly:
    """Lets only reads through, whatever routes the app behind it has."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and scope["method"] not in _READ:
            told = "this registry is read-only: use GET or HEAD"
            refusal = error_answer(405, "UNSUPPORTED", told, {"Allow": ", ".join(_READ)})
            await refusal(scope, receive, send)
        else:
            await self._app(scope, receive, send)


class _Reading:
    """The endpoints that every listener has."""

    def __init__(self, layout: Layout) -> None:
        self._layout = layout

    async def manifest(self, request: Request) -> Response:
        repository = _repository(self._layout, request)
        found = await asyncio.to_thread(repository.manifest, request.path_params["reference"])
        headers = VERSION | {
            "Content-Type": found.descriptor.media_type,
            "Docker-Content-Digest": found.descriptor.digest,
        }
        return Response(found.data, headers=headers)

    async def blob(self, request: Request) -> Response:
        repository = _repository(self._layout, request)
        digest = request.path_params["digest"]
        path: Path = await asyncio.to_thread(repository.blob, digest)
        headers = VERSION | {"Docker-Content-Digest": digest, "ETag": f'"{digest}"'}
        # FileResponse answers Range and HEAD, and reads in threads.
        return FileResponse(path, headers=headers, media_type=_OCTETS)

    async def tags(self, request: Request) -> Response:
        repository = _repository(self._layout, request)
        tags = await asyncio.to_thread(repository.tags)
        return JSONResponse({"name": repository.name, "tags": tags}, headers=VERSION)


class _Writing:
    """The endpoints that push."""

    def __init__(self, layout: Layout) -> None:
        self._layout = layout

    async def start(self, request: Request) -> Response:
        """Begin an upload, or receive a whole blob if `digest` is given.

        Since repositories share nothing here, `mount` just begins an upload, as the specification
        allows.
        """
        repository = _repository(self._layout, request)
        digest = request.query_params.get("digest")
        upload = await asyncio.to_thread(repository.start_upload)
        if digest is None:
            return await _progress(request, repository, upload, 202)
        try:
            await receive_into(upload, request)
            return await _finish(request, repository, upload, digest)
        except BaseException:
            upload.discard()
            raise

    async def state(self, request: Request) -> Response:
        repository, upload = await self._upload(request)
        return await _progress(request, repository, upload, 204)

    async def add(self, request: Request) -> Response:
        repository, upload = await self._upload(request)
        await receive_into(upload, request)
        return await _progress(request, repository, upload, 202)

    async def finish(self, request: Request) -> Response:
        repository, upload = await self._upload(request)
        digest = request.query_params.get("digest")
        if digest is None:
            raise InvalidDigest("?digest= is missing: it ends an upload")
        await receive_into(upload, request)
        return await _finish(request, repository, upload, digest)

    async def discard(self, request: Request) -> Response:
        _, upload = await self._upload(request)
        await asyncio.to_thread(upload.discard)
        return Response(status_code=204, headers=VERSION)

    async def manifest(self, request: Request) -> Response:
        repository = _repository(self._layout, request)
        reference = request.path_params["reference"]
        data = await _body(request, MANIFEST_LIMIT_BYTES)
        media_type = request.headers.get("Content-Type") or parse_manifest(data).media_type
        if not media_type:
            raise InvalidManifest("neither Content-Type nor mediaType says what it is")
        stored = await asyncio.to_thread(repository.put_manifest, data, media_type, reference)
        headers = VERSION | {
            "Location": f"{_base(request, repository)}/manifests/{stored.digest}",
            "Docker-Content-Digest": stored.digest,
        }
        return Response(status_code=201, headers=headers)

    async def _upload(self, request: Request) -> tuple[Repository, Upload]:
        repository = _repository(self._layout, request)
        upload = await asyncio.to_thread(repository.upload, request.path_params["upload"])
        return repository, upload


async def _version(request: Request) -> Response:
    return JSONResponse({}, headers=VERSION)


def _repository(layout: Layout, request: Request) -> Repository:
    return layout.repository(request.path_params["name"])


def _base(request: Request, repository: Repository) -> str:
    return f"{request.scope.get('root_path', '')}/v2/{repository.name}"


async def _progress(
    request: Request, repository: Repository, upload: Upload, status: int
) -> Response:
    size = await asyncio.to_thread(lambda: upload.size)
    headers = VERSION | {
        "Location": f"{_base(request, repository)}/blobs/uploads/{upload.id}",
        "Range": f"0-{max(size - 1, 0)}",
        "Docker-Upload-UUID": upload.id,
    }
    return Response(status_code=status, headers=headers)


async def _finish(
    request: Request, repository: Repository, upload: Upload, digest: str
) -> Response:
    await asyncio.to_thread(upload.finish, digest)
    headers = VERSION | {
        "Location": f"{_base(request, repository)}/blobs/{digest}",
        "Docker-Content-Digest": digest,
    }
    return Response(status_code=201, headers=headers)


async def _body(request: Request, limit: int) -> bytes:
    data = bytearray()
    async for piece in request.stream():
        data += piece
        if len(data) > limit:
            raise TooLarge(f"the manifest has over {limit} bytes")
    return bytes(data)


async def _known_error(request: Request, error: Exception) -> Response:
    status, code = next(_ANSWERS[kind] for kind in type(error).__mro__ if kind in _ANSWERS)
    return error_answer(status, code, str(error))


async def _other_error(request: Request, error: Exception) -> Response:
    status = error.status_code if isinstance(error, HTTPException) else 500
    reason = "has no such endpoint" if status == 404 else "cannot do that"
    text = f"this registry {reason}: {request.method} {request.url.path}"
    return error_answer(status, "UNSUPPORTED", text)


async def _gone(request: Request, error: Exception) -> Response:
    return error_answer(499, "BLOB_UPLOAD_INVALID", "the client went away")
