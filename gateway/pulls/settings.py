"""`[artifacts]` in `gateway.toml`: where the releases lie that workers pull."""

import ssl
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, PositiveInt, model_validator
from starlette.routing import BaseRoute
from temporalio.client import Client

from artifacts.layout import Layout
from gateway.callers import Callers
from gateway.pulls.contents import ReleaseContents
from gateway.pulls.embedded import EmbeddedRegistry
from gateway.pulls.registry_login import RegistryCredentials
from gateway.pulls.routes import Backend, PullLimits, Pulls
from gateway.pulls.told import Allowed, InstallWorkflows
from gateway.pulls.upstream import UpstreamRegistry


class ArtifactsSection(BaseModel):
    """Either a layout on this machine, or a registry behind the gateway."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    layout: Path | None = None
    """The folder of the embedded registry."""
    registry: Annotated[str, Field(pattern=r"^https?://[^\s]+$")] | None = None
    """The address of a registry: scheme, host, port, and the path above `/v2/` if it has one."""
    user: str | None = None
    password: Path | None = None
    """A file with the user's password, read anew for each login."""
    ca: Path | None = None
    """PEM of the authorities to trust, where they are none of the usual ones."""
    pulls_at_once: PositiveInt = PullLimits.at_once
    """Of one worker."""

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

    def below(self, folder: Path) -> "ArtifactsSection":
        """The same, with its paths relative to a folder."""
        paths = {
            name: folder / path
            for name in ("layout", "password", "ca")
            if (path := getattr(self, name)) is not None
        }
        return self.model_copy(update=paths)

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
        self, callers: Callers, client_of: Callable[[str], Client]
    ) -> AsyncIterator[list[BaseRoute]]:
        """The routes, with clients of each org to ask the Install workflows with."""
        backend = self.backend()
        try:
            allowed = Allowed(InstallWorkflows(client_of), ReleaseContents(backend))
            limits = PullLimits(at_once=self.pulls_at_once)
            yield Pulls(callers, allowed, backend, limits).routes()
        finally:
            await backend.close()
