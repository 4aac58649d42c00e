"""Releases in a layout, served by a gateway's pulls; a test sets what each install may pull."""

import asyncio
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

import httpx
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import ASGIApp

from apps.release import (
    CONFIG_ARTIFACT_TYPE,
    INDEX_MEDIA_TYPE,
    MANIFEST_MEDIA_TYPE,
    MODULE_ARTIFACT_TYPE,
    Descriptor,
    ReleaseIndex,
)
from artifacts.layout import Layout
from artifacts.manifests import artifact_manifest, canonical_json
from artifacts.names import digest_of
from artifacts.registry import Registry
from contracts.installs import InstallReleases
from gateway.audit import Audit
from gateway.http.callers import Callers, Rate
from gateway.identity import Identity, Standing
from gateway.pulls.builds import Builds
from gateway.pulls.contents import BackendAway, ReleaseContents
from gateway.pulls.pullable_releases import PullableReleases
from gateway.pulls.registry_login import RegistryCredentials
from gateway.pulls.routes import Backend, PullLimits, Pulls
from gateway.pulls.upstream import UpstreamRegistry
from gateway.pulls.upstream_pushes import UpstreamBackend
from tests.artifacts.serving import served
from tests.gateway.gateway_parts import Credentials, Standings, build, install

SHOP = "apps/shop"


@dataclass(frozen=True)
class Made:
    """A release of one component, in a layout."""

    index: str
    config: str
    component: str
    config_blob: str
    module: str


def make_release(layout: Layout, module: bytes, repository: str = SHOP) -> Made:
    """A release whose component is the module's bytes."""
    where = layout.repository(repository)

    def put(kind: str, data: bytes) -> Descriptor:
        blob = Descriptor("test/type", where.put_blob(data), len(data))
        manifest = artifact_manifest(kind, blob, [blob])
        stored = where.put_manifest(manifest, MANIFEST_MEDIA_TYPE)
        return Descriptor(MANIFEST_MEDIA_TYPE, stored.digest, stored.size, artifact_type=kind)

    settings = b"config for " + module[:20]
    config, component = put(CONFIG_ARTIFACT_TYPE, settings), put(MODULE_ARTIFACT_TYPE, module)
    index = ReleaseIndex("shop", config.digest, {"net": component.digest})
    data = canonical_json(index.to_index([config, component]))
    release = where.put_manifest(data, INDEX_MEDIA_TYPE, "v1")
    return Made(
        release.digest, config.digest, component.digest, digest_of(settings), digest_of(module)
    )


class PlayedInstalls:
    """What each install may pull, by its name; counts the questions."""

    def __init__(self) -> None:
        self.pullable: dict[str, list[str]] = {}
        self.asked: defaultdict[str, int] = defaultdict(int)
        self.away = False
        self.answer = asyncio.Event()
        """Answers wait for this event."""
        self.answer.set()

    async def releases(self, identity: Identity) -> InstallReleases | None:
        self.asked[identity.name] += 1
        await self.answer.wait()
        if self.away:
            raise BackendAway("nobody knows")
        releases = self.pullable.get(identity.name)
        return releases and InstallReleases(repository=SHOP, releases=releases)  # type: ignore[return-value]


class ServedStandings(Standings):
    """Can be set from outside of the server's thread."""

    def set(self, identity: Identity, standing: Standing) -> None:
        watching = list(self._watching[identity.org, identity.shown])
        self._standings[identity.org, identity.shown] = standing
        for change in watching:
            change.get_loop().call_soon_threadsafe(super().set, identity, standing)


def upstream_backend(
    address: str, credentials: RegistryCredentials | None = None
) -> UpstreamBackend:
    """A registry behind the gateway."""
    return UpstreamBackend(UpstreamRegistry(address, credentials), [bytes(32)])


@dataclass
class PullSite:
    """A gateway's pulls with a backend behind them."""

    backend: Backend
    limits: PullLimits = field(default_factory=PullLimits)
    rate: Rate = field(default_factory=lambda: Rate(1000, 1000))
    installs: PlayedInstalls = field(default_factory=PlayedInstalls)
    standings: ServedStandings = field(default_factory=ServedStandings)
    audit: Audit = field(default_factory=Audit)
    org: str | None = "dev"

    def __post_init__(self) -> None:
        self.credentials = Credentials(
            {
                "acme": install("acme"),
                "other": install("other"),
                "build": build(),
                "their build": replace(build(), org="other"),
            }
        )
        callers = Callers(self.credentials, self.standings, self.audit, self.rate)
        self.pullable = PullableReleases(
            self.installs, ReleaseContents(self.backend), ask_again_seconds=0.05
        )
        pulls = Pulls(callers, self.pullable, Builds(self.org), self.backend, self.limits)
        self.app = Starlette(
            routes=[*pulls.routes(), Route("/close", self._close, methods=["POST"])]
        )

    async def _close(self, _: Request) -> Response:
        """The backend's connections belong to the server's own event loop."""
        await self.backend.close()
        return Response()

    @contextmanager
    def serving(self, app: ASGIApp | None = None) -> Iterator[str]:
        with served(app or self.app) as address:
            try:
                yield address
            finally:
                httpx.post(f"{address}/close", trust_env=False)


class Word(httpx.Auth):
    """A credential that the test changes between two requests."""

    def __init__(self, word: str) -> None:
        self.word = word

    def auth_flow(self, request: httpx.Request) -> Iterator[httpx.Request]:  # type: ignore[override]
        request.headers["Authorization"] = f"Bearer {self.word}"
        yield request


@contextmanager
def pulling(address: str, word: str | None) -> Iterator[httpx.Client]:
    """A client like a person's curl."""
    auth = Word(word) if word else None
    with httpx.Client(base_url=address, auth=auth, trust_env=False) as client:
        yield client


def worker(address: str, word: str) -> Registry:
    """A client like a worker's."""
    return Registry(address, auth=Word(word))
