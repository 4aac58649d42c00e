"""`[artifacts]` in `gateway.toml`: the registry of the releases that workers pull."""

import ssl
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, PositiveFloat, PositiveInt, model_validator
from starlette.routing import BaseRoute
from temporalio.client import Client

from artifacts.layout import Layout
from contracts.names import Name
from gateway.audit import Audit
from gateway.http.callers import Callers, Rate
from gateway.identity import Access, Authenticator
from gateway.pulls.builds import Builds
from gateway.pulls.contents import ReleaseContents
from gateway.pulls.embedded import EmbeddedRegistry
from gateway.pulls.pullable_releases import InstallWorkflows, PullableReleases
from gateway.pulls.registry_login import RegistryCredentials
from gateway.pulls.routes import Backend, PullLimits, Pulls
from gateway.pulls.upstream import UpstreamRegistry
from gateway.pulls.upstream_pushes import UpstreamBackend
from gateway.setting_paths import File


class ArtifactsSection(BaseModel):
    """Either a layout on this machine, or a registry behind the gateway."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    layout: File | None = None
    """The folder of the embedded registry."""
    registry: Annotated[str, Field(pattern=r"^https?://[^\s]+$")] | None = None
    """The address of a registry: scheme, host, port, and the path above `/v2/` if it has one."""
    user: str | None = None
    password: File | None = None
    """A file with the user's password, read again for each login."""
    org: Name | None = None
    """The org whose releases lie there; only its build workers may push. It may be left out if the
    gateway serves only one org."""
    ca: File | None = None
    """PEM of the authorities to trust, if not the usual ones."""
    pulls_at_once: PositiveInt = PullLimits.at_once
    """Limit of one worker; for a build worker, it includes pushes."""
    requests_per_second: PositiveFloat = 50.0
    """Limit of one worker."""
    requests_at_once: PositiveFloat = 500.0
    """How many requests of one worker may come in one burst."""

    @model_validator(mode="after")
    def _one_place(self) -> "ArtifactsSection":
        if (self.layout is None) == (self.registry is None):
            raise ValueError("set exactly one of layout and registry")
        if (self.user is None) != (self.password is None):
            raise ValueError("user and password belong together")
        if self.registry is None and (self.user or self.ca):
            raise ValueError("user, password and ca are for a registry")
        if self.user and not (self.registry or "").startswith("https://"):
            raise ValueError("the password would travel in clear; use https:// for the registry")
        return self

    def backend(self, secrets: Sequence[bytes]) -> Backend:
        """The registry that holds the releases; raises OSError if `ca` cannot be read."""
        if self.layout is not None:
            return EmbeddedRegistry(Layout(self.layout))
        credentials = None
        if self.user is not None and self.password is not None:
            credentials = RegistryCredentials(self.user, self.password)
        trusted = ssl.create_default_context(cafile=self.ca) if self.ca else None
        registry = UpstreamRegistry(self.registry or "", credentials, trusted=trusted)
        return UpstreamBackend(registry, secrets)

    @asynccontextmanager
    async def serving(
        self,
        authenticator: Authenticator,
        access: Access,
        audit: Audit,
        clients: Mapping[str, Client],
        secrets: Sequence[bytes],
    ) -> AsyncIterator[list[BaseRoute]]:
        """The routes.

        Args:
            authenticator: Identifies callers by their credentials.
            access: Knows the standing of each identity.
            audit: Counts calls, and logs denials.
            clients: By org, used to ask the Install workflows.
            secrets: The secrets that all gateways share.
        """
        rate = Rate(self.requests_per_second, self.requests_at_once)
        callers = Callers(authenticator, access, audit, rate)
        backend = self.backend(secrets)
        builds = Builds(self.org or (next(iter(clients)) if len(clients) == 1 else None))
        try:
            pullable = PullableReleases(
                InstallWorkflows(clients.__getitem__), ReleaseContents(backend)
            )
            limits = PullLimits(at_once=self.pulls_at_once)
            yield Pulls(callers, pullable, builds, backend, limits).routes()
        finally:
            await backend.close()
