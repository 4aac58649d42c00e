"""`[artifacts]` in `gateway.toml`: where the releases lie that workers pull."""

import ssl
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, PositiveFloat, PositiveInt, model_validator
from starlette.routing import BaseRoute
from temporalio.client import Client

from artifacts.layout import Layout
from gateway.audit import Audit
from gateway.callers import Callers, Rate
from gateway.identity import Access, Authenticator
from gateway.pulls.contents import ReleaseContents
from gateway.pulls.embedded import EmbeddedRegistry
from gateway.pulls.registry_login import RegistryCredentials
from gateway.pulls.routes import Backend, PullLimits, Pulls
from gateway.pulls.told import Allowed, InstallWorkflows
from gateway.pulls.upstream import UpstreamRegistry
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
    """A file with the user's password, read anew for each login."""
    ca: File | None = None
    """PEM of the authorities to trust, where they are none of the usual ones."""
    pulls_at_once: PositiveInt = PullLimits.at_once
    """Of one worker."""
    requests_per_second: PositiveFloat = 50.0
    """Of one worker."""
    requests_at_once: PositiveFloat = 500.0
    """How many of them may come in one burst."""

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

    def backend(self) -> Backend:
        """Where the releases lie; raises OSError where `ca` cannot be read."""
        if self.layout is not None:
            return EmbeddedRegistry(Layout(self.layout))
        credentials = None
        if self.user is not None and self.password is not None:
            credentials = RegistryCredentials(self.user, self.password)
        trusted = ssl.create_default_context(cafile=self.ca) if self.ca else None
        return UpstreamRegistry(self.registry or "", credentials, trusted=trusted)

    @asynccontextmanager
    async def serving(
        self,
        authenticator: Authenticator,
        access: Access,
        audit: Audit,
        client_of: Callable[[str], Client],
    ) -> AsyncIterator[list[BaseRoute]]:
        """The routes, with clients of each org to ask the Install workflows with."""
        rate = Rate(self.requests_per_second, self.requests_at_once)
        callers = Callers(authenticator, access, audit, rate)
        backend = self.backend()
        try:
            allowed = Allowed(InstallWorkflows(client_of), ReleaseContents(backend))
            limits = PullLimits(at_once=self.pulls_at_once)
            yield Pulls(callers, allowed, backend, limits).routes()
        finally:
            await backend.close()
