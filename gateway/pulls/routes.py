"""The part of the OCI distribution API that workers may use.

An install's worker pulls by digest; whatever it was not told to run gets the same answer as what
does not exist. What a build worker may do is in `builds`.
"""

import asyncio
import re
from collections.abc import Awaitable
from dataclasses import dataclass
from typing import Protocol

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import BaseRoute, Route
from starlette.types import ASGIApp, Receive, Scope, Send

from gateway.http.callers import Callers, Refused
from gateway.identity import Identity, Standing
from gateway.limits import TooMuch
from gateway.pulls.builds import Builds
from gateway.pulls.contents import BackendAway, Manifests
from gateway.pulls.pullable_releases import PullableReleases
from gateway.registry.answers import VERSION, error_answer
from gateway.rpc.lanes import Lanes

COUNTED_AS = "pull"
_WANTED = re.compile(r"/v2/(?P<name>.+)/(?P<kind>manifests|blobs)/(?P<digest>sha256:[0-9a-f]{64})")
_RETRY_SECONDS = 2
_CODES = {401: "UNAUTHORIZED", 403: "DENIED", 405: "UNSUPPORTED", 429: "TOOMANYREQUESTS"}


class Backend(Manifests, Protocol):
    """The registry that holds the releases."""

    @property
    def app(self) -> ASGIApp:
        """Answers GET and HEAD of a manifest or blob by its digest, at the API's path."""

    @property
    def pushing(self) -> ASGIApp:
        """Answers what `Builds` lets through: the same, and pushes."""

    async def close(self) -> None:
        """Close the connections."""


@dataclass(frozen=True)
class PullLimits:
    """The limits of each identity."""

    at_once: int = 8
    """Pulls and pushes that may run at the same time."""
    waiting: int = 200
    """Further ones that may wait; a worker may have that many activities."""


class Pulls:
    """An ASGI app that identifies callers, checks their rights, and lets the backend answer."""

    def __init__(
        self,
        callers: Callers,
        pullable: PullableReleases,
        builds: Builds,
        backend: Backend,
        limits: PullLimits,
    ) -> None:
        self._callers = callers
        self._pullable = pullable
        self._builds = builds
        self._backend = backend
        self._lanes = Lanes("pulls", limits.at_once, limits.waiting)

    def routes(self) -> list[BaseRoute]:
        """The routes, to be served at the root."""
        return [Route("/v2/{rest:path}", self)]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        request = Request(scope, receive)
        try:
            identity = self._callers.admit(request)
            if scope["path"] == "/v2/" and request.method in ("GET", "HEAD"):
                await JSONResponse({}, headers=VERSION)(scope, receive, send)
                return
            async with self._lanes.lane(identity):
                app = await self._checked(identity, request)
                self._callers.audit.allowed(COUNTED_AS)
                answering = app(_simple(scope), receive, send)
                await self._unless_revoked(identity, answering)
        except TooMuch as error:
            many = Refused(429, str(error), retry_after=_RETRY_SECONDS, identity=identity)
            await self._refuse(many, scope, receive, send)
        except Refused as refused:
            await self._refuse(refused, scope, receive, send)

    async def _refuse(self, refused: Refused, scope: Scope, receive: Receive, send: Send) -> None:
        self._callers.denied(Request(scope), refused, COUNTED_AS)
        await _answer(refused)(scope, receive, send)

    async def _unless_revoked(self, identity: Identity, answering: Awaitable[None]) -> None:
        """Let the backend answer; a revocation cuts the answer off, and ends the connection."""
        # What has arrived of a push stays in its upload, which is removed after a day.
        pull = asyncio.ensure_future(answering)
        watch = asyncio.create_task(self._revoked(identity))
        try:
            await asyncio.wait({pull, watch}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            watch.cancel()
            pull.cancel()
            await asyncio.wait({pull, watch})
        if not pull.cancelled():
            await pull

    async def _revoked(self, identity: Identity) -> None:
        access = self._callers.access
        while access.standing(identity) is not Standing.REVOKED:
            await access.changed(identity)

    async def _checked(self, identity: Identity, request: Request) -> ASGIApp:
        """The app that answers the request, if the identity may make it."""
        if identity.kind == "build":
            self._builds.check(identity, request)
            return self._backend.pushing
        if request.method not in ("GET", "HEAD"):
            raise Refused(
                405,
                "workers of installs only pull: use GET or HEAD",
                identity=identity,
                allow=("GET", "HEAD"),
            )
        wanted = _WANTED.fullmatch(request.scope["path"])
        try:
            if wanted is not None and await self._pullable.may_pull(identity, *wanted.groups()):
                return self._backend.app
        except BackendAway as error:
            raise Refused(503, str(error), retry_after=_RETRY_SECONDS, identity=identity) from error
        raise Refused(404, f"{request.scope['path']} is not here", identity=identity)


def _simple(scope: Scope) -> Scope:
    """The request without multiple ranges, which RFC 9110 lets a server ignore."""
    headers = [
        (key, value) for key, value in scope["headers"] if key != b"range" or b"," not in value
    ]
    return {**scope, "headers": headers}


def _answer(refused: Refused) -> Response:
    code = _CODES.get(refused.status)
    if refused.status == 404:
        code = "BLOB_UNKNOWN" if "/blobs/" in refused.reason else "MANIFEST_UNKNOWN"
    return error_answer(refused.status, code or "UNAVAILABLE", refused.reason, refused.headers)
