"""Releases from the embedded registry: a layout folder on this machine."""

import asyncio

from starlette.types import ASGIApp

from artifacts.layout import BlobUnknown, Layout, ManifestUnknown
from gateway.pulls.contents import ManifestMissing
from gateway.registry.app import registry_app


class EmbeddedRegistry:
    """Implements `Backend` on a layout."""

    def __init__(self, layout: Layout) -> None:
        self._layout = layout
        self.app: ASGIApp = registry_app(layout, writable=False)
        """Answers Range, If-Range and HEAD by itself."""
        self.pushing: ASGIApp = registry_app(layout, writable=True)

    async def manifest(self, repository: str, digest: str) -> bytes:
        """As in `Manifests`."""
        try:
            found = await asyncio.to_thread(self._layout.repository(repository).manifest, digest)
        except (ManifestUnknown, BlobUnknown) as error:
            raise ManifestMissing(str(error)) from error
        return found.data

    async def close(self) -> None:
        """Nothing is open."""
