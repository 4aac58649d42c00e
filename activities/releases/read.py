"""The control worker's `release.read`: returns a release's graph, without its content."""

import asyncio
from functools import lru_cache

from temporalio import activity

from activities.releases.failures import artifact_errors
from activities.releases.graph import release_graph
from activities.releases.reading import not_of_app, read_config, read_index
from apps.config.app import AppConfig
from artifacts.registry import Registry
from contracts import releases
from contracts.releases import ReadRelease, ReleaseGraph

_GRAPHS_KEPT = 128
"""At most 256 KiB each."""


class ReleaseActivities:
    """Reads releases for workflows; graphs are cached."""

    def __init__(self, registry: Registry) -> None:
        """Read from `registry`, which has one repository for each app's releases."""
        self._registry = registry
        # A release never changes, so its graph can be cached; errors are not.
        self._graph = lru_cache(maxsize=_GRAPHS_KEPT)(self._read)

    @activity.defn(name=releases.READ.name)
    async def read(self, request: ReadRelease) -> ReleaseGraph:
        """The graph of one release of one app.

        Raises:
            NotThere: the app has no such release.
            BadInput: the digest is not a release's.
            BadConfig: its graph is over GRAPH_LIMIT_BYTES.
            NotUnderstood: its config needs a newer version.
            Unreachable: the registry does not answer.
        """
        return await asyncio.to_thread(self._graph, request.app, request.release)

    def config(self, app: str, release: str) -> AppConfig:
        """The config of one release of one app; blocks, and raises as `read`."""
        with artifact_errors(f"release {release} of app {app}", not_of_app(app, release)):
            index = read_index(self._registry, app, release)
            return read_config(self._registry, app, index.config)

    def _read(self, app: str, release: str) -> ReleaseGraph:
        return release_graph(app, release, self.config(app, release))
