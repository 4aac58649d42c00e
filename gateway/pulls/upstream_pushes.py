"""Pushes to a registry behind the gateway: bytes pass through, and nothing is stored.

The registry's own URL of an upload, which may contain anything, is encrypted into the upload id
that the build worker sees. Any gateway with the same secrets can continue the upload, but only for
the same repository.
"""

import base64
import json
import re
from collections.abc import AsyncIterator, Sequence

import httpx
from cryptography.fernet import Fernet, InvalidToken, MultiFernet
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response
from starlette.types import ASGIApp, Receive, Scope, Send

from artifacts.layout import BLOB_LIMIT_BYTES
from artifacts.manifests import MANIFEST_LIMIT_BYTES, InvalidManifest, parse_manifest
from artifacts.names import digest_of, keeping_tag
from artifacts.uploads import UPLOAD_LIFE_SECONDS, TooLarge
from gateway.pulls.contents import BackendAway, ManifestMissing
from gateway.pulls.upstream import UpstreamRegistry, away_answer
from gateway.registry.answers import VERSION, error_answer

_PATH = re.compile(
    r"/v2/(?P<repository>.+)/(?:blobs/uploads/(?P<upload>[A-Za-z0-9_-]*)|manifests/(?P<digest>.+))"
)
_MANIFEST = re.compile(r"/v2/(?P<repository>.+)/manifests/(?P<digest>sha256:[0-9a-f]{64})")
_SENT_ON = ("content-type", "content-length", "content-range")
_PASSED_ON = ("Range", "Docker-Content-Digest")
_ANSWER_BYTES = 64 * 1024


class UploadAddresses:
    """Encrypts the registry's URL of an upload, and decrypts it again."""

    def __init__(self, secrets: Sequence[bytes]) -> None:
        """Derive the keys; the first secret encrypts, all of them decrypt."""
        self._ring = MultiFernet([Fernet(_derived(secret)) for secret in secrets])

    def seal(self, repository: str, url: httpx.URL) -> str:
        """The upload's id, as the build worker sees it."""
        content = json.dumps([repository, str(url)]).encode()
        return self._ring.encrypt(content).decode("ascii").rstrip("=")

    def open(self, repository: str, sealed: str) -> httpx.URL | None:
        """The URL of the upload; None if it belongs to another repository, or is too old."""
        padded = sealed + "=" * (-len(sealed) % 4)
        try:
            content = self._ring.decrypt(padded.encode("ascii"), ttl=int(UPLOAD_LIFE_SECONDS))
        except InvalidToken:
            return None
        owner, url = json.loads(content)
        return httpx.URL(url) if owner == repository else None


class UpstreamBackend:
    """Implements `Backend` with a registry: its pulls, and pushes."""

    def __init__(self, registry: UpstreamRegistry, secrets: Sequence[bytes]) -> None:
        """Pass pushes on to a registry.

        Args:
            registry: The registry.
            secrets: The secrets that all gateways share.
        """
        self._registry = registry
        self._addresses = UploadAddresses(secrets)
        self.app: ASGIApp = registry.app
        self.pushing: ASGIApp = self._push

    async def manifest(self, repository: str, digest: str) -> bytes:
        """As in `Manifests`."""
        return await self._registry.manifest(repository, digest)

    async def close(self) -> None:
        """Close the connections."""
        await self._registry.close()

    async def _push(self, scope: Scope, receive: Receive, send: Send) -> None:
        is_read = scope["method"] in ("GET", "HEAD") and "/blobs/uploads/" not in scope["path"]
        if is_read and scope["method"] == "GET":
            await self._registry.app(scope, receive, send)
            return
        try:
            if is_read:
                await self._keep_what_is_there(scope["path"])
                await self._registry.app(scope, receive, send)
                return
            response = await self._answer(Request(scope, receive))
        except TooLarge as error:
            response = error_answer(413, "SIZE_INVALID", str(error))
        except BackendAway as error:
            response = away_answer(str(error))
        except ClientDisconnect:
            return
        await response(scope, receive, send)

    async def _answer(self, request: Request) -> Response:
        found = _PATH.fullmatch(request.scope["path"])
        if found is None:
            raise AssertionError("only what a build worker may push comes here")
        repository, upload, digest = found.group("repository", "upload", "digest")
        if digest is not None:
            return await self._manifest(request, repository, digest)
        if not upload:
            # A whole blob may be sent with this request, given its digest; the API also allows the
            # answer used here, which asks for it afterwards. `mount` is ignored in the same way.
            begin = self._registry.url(repository, "blobs", "uploads/")
            return await self._sent("POST", repository, begin, {})
        url = self._addresses.open(repository, upload)
        if url is None:
            return error_answer(
                404, "BLOB_UPLOAD_UNKNOWN", "there is no such upload; begin it again"
            )
        if "digest" in request.query_params:
            url = url.copy_merge_params({"digest": request.query_params["digest"]})
        headers = {key: request.headers[key] for key in _SENT_ON if key in request.headers}
        content = _bounded(request) if request.method in ("PATCH", "PUT") else None
        return await self._sent(request.method, repository, url, headers, content)

    async def _manifest(self, request: Request, repository: str, digest: str) -> Response:
        data = bytearray()
        async for piece in _bounded(request, MANIFEST_LIMIT_BYTES):
            data += piece
        headers = {"Content-Type": request.headers.get("Content-Type", "")}
        url = self._registry.url(repository, "manifests", digest)
        answer = await self._sent("PUT", repository, url, headers, bytes(data))
        if answer.status_code == httpx.codes.CREATED:
            await self._keep(repository, digest, headers, bytes(data))
        return answer

    async def _keep(
        self, repository: str, digest: str, headers: dict[str, str], data: bytes
    ) -> None:
        """Give a manifest the tag that protects it from garbage collection. Build workers set no
        tags, and this one is derived from the digest, so it never moves to another manifest."""
        tag = self._registry.url(repository, "manifests", keeping_tag(digest))
        answer = await self._sent("PUT", repository, tag, headers, data)
        if answer.status_code != httpx.codes.CREATED:
            raise BackendAway(
                f"the registry behind the gateway answered {answer.status_code} to the tag of "
                f"{digest}, which its garbage collector would delete"
            )

    async def _keep_what_is_there(self, path: str) -> None:
        """Tag a manifest that a build worker asks for, which it will reuse if it exists.

        It may have been pushed before gateways set tags, or somebody may have removed its tag.
        """
        found = _MANIFEST.fullmatch(path)
        if found is None:
            return
        repository, digest = found.group("repository", "digest")
        if await self._registry.has_manifest(repository, keeping_tag(digest)):
            return
        try:
            data = await self._registry.manifest(repository, digest)
            media_type = parse_manifest(data).media_type
        except (ManifestMissing, InvalidManifest):
            return
        # Manifests that Exclave makes always state their media type.
        if media_type and digest_of(data) == digest:
            await self._keep(repository, digest, {"Content-Type": media_type}, data)

    async def _sent(
        self,
        method: str,
        repository: str,
        url: httpx.URL,
        headers: dict[str, str],
        content: bytes | AsyncIterator[bytes] | None = None,
    ) -> Response:
        async with self._registry.push(method, url, headers, content) as answer:
            body = bytearray()
            async for piece in answer.aiter_raw():
                body += piece
                if len(body) > _ANSWER_BYTES:
                    raise BackendAway(f"{method} {url.path} is answered at too great a length")
            if answer.status_code in (401, 403) or answer.status_code >= 500:
                raise BackendAway(self._registry.refused(answer))
            passed = {name: answer.headers[name] for name in _PASSED_ON if name in answer.headers}
            if location := answer.headers.get("Location"):
                passed["Location"] = self._location(
                    repository, answer.status_code, url.join(location)
                )
            if answer.is_success:
                return Response(status_code=answer.status_code, headers=VERSION | passed)
            return JSONResponse(_errors(bytes(body)), answer.status_code, VERSION | passed)

    def _location(self, repository: str, status: int, target: httpx.URL) -> str:
        if status == httpx.codes.CREATED:
            kind, _, reference = target.path.rpartition("/")
            return f"/v2/{repository}/{kind.rpartition('/')[2]}/{reference}"
        return f"/v2/{repository}/blobs/uploads/{self._addresses.seal(repository, target)}"


def _errors(body: bytes) -> object:
    """The errors in the registry's answer, if they have the specified form."""
    try:
        found = json.loads(body)
    except ValueError:
        found = None
    if isinstance(found, dict) and isinstance(found.get("errors"), list):
        return {"errors": found["errors"]}
    return {"errors": [{"code": "UNKNOWN", "message": "the registry says no more"}]}


async def _bounded(request: Request, limit: int = BLOB_LIMIT_BYTES) -> AsyncIterator[bytes]:
    size = 0
    async for piece in request.stream():
        size += len(piece)
        if size > limit:
            raise TooLarge(f"the body has over {limit} bytes")
        yield piece


def _derived(secret: bytes) -> bytes:
    info = b"exclave gateway upload addresses, version 1"
    key = HKDF(SHA256(), length=32, salt=None, info=info).derive(secret)
    return base64.urlsafe_b64encode(key)
