"""Releases from a registry behind the gateway: bytes pass through, and nothing is stored.

Workers see only the gateway. It follows the registry's redirects itself, and removes all headers
from its answers except those about the content.
"""

import logging
import re
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import httpx
from starlette.responses import Response, StreamingResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from apps.release import INDEX_MEDIA_TYPE, MANIFEST_MEDIA_TYPE
from artifacts.manifests import MANIFEST_LIMIT_BYTES
from artifacts.transport import MAX_REDIRECTS
from gateway.pulls.contents import BackendAway, ManifestMissing
from gateway.pulls.registry_login import LoginFailed, RegistryCredentials, RegistryLogin
from gateway.registry.answers import VERSION, error_answer

_log = logging.getLogger(__name__)

_PATH = re.compile(r"/v2/(.+)/(manifests|blobs)/(sha256:[0-9a-f]{64})")
_TIMEOUT = httpx.Timeout(60, connect=5)
_CONNECTIONS = httpx.Limits(max_connections=200, max_keepalive_connections=20)
_ACCEPT = ", ".join(
    [
        MANIFEST_MEDIA_TYPE,
        INDEX_MEDIA_TYPE,
        "application/vnd.docker.distribution.manifest.v2+json",
        "application/vnd.docker.distribution.manifest.list.v2+json",
    ]
)
_PASSED_ON = ("Content-Type", "Content-Length", "Content-Range", "Accept-Ranges")
_GOOD = (200, 206, 304, 416)
_RETRY_SECONDS = 2


class UpstreamRegistry:
    """A registry at its address; in an `UpstreamBackend` it is a `Backend`."""

    def __init__(
        self,
        address: str,
        credentials: RegistryCredentials | None = None,
        *,
        trusted: ssl.SSLContext | None = None,
        timeout: httpx.Timeout = _TIMEOUT,
    ) -> None:
        """Does not connect yet.

        Args:
            address: Scheme, host, port and, if there is one, the path above `/v2/`.
            credentials: The gateway's own; without them it reads anonymously.
            trusted: The authorities to trust, if not the usual ones.
            timeout: Seconds for connecting, and for each wait for the next bytes.
        """
        self.address = address.rstrip("/")
        self._login = RegistryLogin(credentials)
        # With trust_env, a proxy in the environment would be used for loopback addresses, too.
        self._client = httpx.AsyncClient(
            timeout=timeout,
            limits=_CONNECTIONS,
            trust_env=False,
            verify=trusted or True,
            headers={"User-Agent": "exclave", "Accept-Encoding": "identity"},
        )
        self.app: ASGIApp = self._serve

    async def close(self) -> None:
        """Close the connections."""
        await self._client.aclose()

    async def manifest(self, repository: str, digest: str) -> bytes:
        """As in `Manifests`."""
        url = self.url(repository, "manifests", digest)
        data = bytearray()
        async with self._fetch("GET", url, {"Accept": _ACCEPT}) as answer:
            if answer.status_code == httpx.codes.NOT_FOUND:
                raise ManifestMissing(f"{repository} has no manifest {digest}")
            if answer.status_code != httpx.codes.OK:
                raise BackendAway(self.refused(answer))
            async for piece in answer.aiter_raw():
                data += piece
                if len(data) > MANIFEST_LIMIT_BYTES:
                    raise BackendAway(
                        f"the manifest {digest} has over {MANIFEST_LIMIT_BYTES} bytes"
                    )
        return bytes(data)

    async def has_manifest(self, repository: str, reference: str) -> bool:
        """Whether the registry has a manifest, by tag or digest.

        Raises:
            BackendAway: it gives no usable answer.
        """
        url = self.url(repository, "manifests", reference)
        async with self._fetch("HEAD", url, {"Accept": _ACCEPT}) as answer:
            if answer.status_code not in (httpx.codes.OK, httpx.codes.NOT_FOUND):
                raise BackendAway(self.refused(answer))
            return answer.status_code == httpx.codes.OK

    async def _serve(self, scope: Scope, receive: Receive, send: Send) -> None:
        found = _PATH.fullmatch(scope["path"])
        if found is None:
            raise AssertionError("only pulls by digest come here")
        repository, kind, digest = found.groups()
        url = self.url(repository, kind, digest)
        begun = False
        try:
            async with self._fetch(scope["method"], url, _asked_for(scope, digest)) as answer:
                response = self._response(answer, kind, digest)
                begun = True
                await response(scope, receive, send)
        except (BackendAway, httpx.TransportError) as error:
            reason = str(error) or type(error).__name__
            _log.warning("%s broke a pull of %s: %s", self.address, digest, reason)
            # Once the answer has begun, only the end of the connection can show that it is
            # incomplete; the worker resumes from there.
            if not begun:
                await away_answer(reason)(scope, receive, send)

    def _response(self, answer: httpx.Response, kind: str, digest: str) -> Response:
        if answer.status_code == httpx.codes.NOT_FOUND:
            code = "BLOB_UNKNOWN" if kind == "blobs" else "MANIFEST_UNKNOWN"
            return error_answer(404, code, f"the registry does not have {digest}")
        if answer.status_code not in _GOOD:
            raise BackendAway(self.refused(answer))
        headers = {name: answer.headers[name] for name in _PASSED_ON if name in answer.headers}
        headers |= VERSION | {"Docker-Content-Digest": digest, "ETag": f'"{digest}"'}
        return StreamingResponse(
            answer.aiter_raw(), status_code=answer.status_code, headers=headers
        )

    def refused(self, answer: httpx.Response) -> str:
        """Describes an answer that cannot be used."""
        return (
            f"the registry behind the gateway answered {answer.status_code} to "
            f"{answer.request.method} {answer.request.url.path}"
        )

    def url(self, repository: str, kind: str, digest: str) -> httpx.URL:
        """The URL of a manifest or blob in the registry."""
        return httpx.URL(f"{self.address}/v2/{repository}/{kind}/{digest}")

    @asynccontextmanager
    async def push(
        self,
        method: str,
        url: httpx.URL,
        headers: dict[str, str],
        content: bytes | AsyncIterator[bytes] | None,
    ) -> AsyncIterator[httpx.Response]:
        """Send a request that changes something, and yield its answer; redirects are not followed.

        Raises:
            BackendAway: there is no answer, or the connection would not be encrypted.
        """
        if _origin(url) != _origin(httpx.URL(self.address)) and url.scheme != "https":
            raise BackendAway(f"the registry wants pushes at {url.host}, which is not encrypted")
        request = self._client.build_request(method, url, headers=headers, content=content)
        own = _origin(url) == _origin(httpx.URL(self.address))
        try:
            answer = await self._client.send(
                request, stream=True, auth=self._login if own else None
            )
        except httpx.StreamError as error:
            raise BackendAway("the registry asked for a new login amid a push") from error
        except (httpx.TransportError, LoginFailed) as error:
            reason = str(error) or type(error).__name__
            raise BackendAway(
                f"the registry behind the gateway does not answer: {reason}"
            ) from error
        try:
            yield answer
        finally:
            await answer.aclose()

    @asynccontextmanager
    async def _fetch(
        self, method: str, url: httpx.URL, headers: dict[str, str]
    ) -> AsyncIterator[httpx.Response]:
        """Send a request, follow its redirects, and yield the answer before its body is read.

        Raises:
            BackendAway: there is no answer, or a redirect that is not followed.
        """
        asked = url
        for _ in range(MAX_REDIRECTS):
            request = self._client.build_request(method, url, headers=headers)
            # Never send the registry's credentials to another host.
            auth = self._login if _origin(url) == _origin(asked) else None
            try:
                answer = await self._client.send(request, stream=True, auth=auth)
            except (httpx.TransportError, LoginFailed) as error:
                reason = str(error) or type(error).__name__
                raise BackendAway(
                    f"the registry behind the gateway does not answer: {reason}"
                ) from error
            try:
                if not answer.has_redirect_location:
                    yield answer
                    return
                url = _followed(url, answer)
            finally:
                await answer.aclose()
        raise BackendAway("the registry behind the gateway redirects without end")


def _followed(url: httpx.URL, answer: httpx.Response) -> httpx.URL:
    target = url.join(answer.headers["Location"])
    if target.scheme != "https" and _origin(target) != _origin(url):
        raise BackendAway(
            f"the registry behind the gateway redirects to {target.scheme}://{target.host}, which "
            "is not encrypted and so not followed"
        )
    return target


def _origin(url: httpx.URL) -> tuple[str, str, int | None]:
    return url.scheme, url.host, url.port


def _asked_for(scope: Scope, digest: str) -> dict[str, str]:
    """The worker's headers about the content; its conditions refer to the gateway's ETag."""
    given = {key.decode("latin-1"): value.decode("latin-1") for key, value in scope["headers"]}
    found = {"Accept": given.get("accept", _ACCEPT)}
    if "range" in given and given.get("if-range", f'"{digest}"') == f'"{digest}"':
        found["Range"] = given["range"]
    return found


def away_answer(reason: str) -> Response:
    """What a caller is answered while the registry is away."""
    return error_answer(503, "UNAVAILABLE", reason, {"Retry-After": str(_RETRY_SECONDS)})
