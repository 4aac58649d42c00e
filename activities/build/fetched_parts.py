"""The parts of a config whose modules lie elsewhere: fetched, checked with the rest, and packed."""

import asyncio
import shutil
import tempfile
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from activities.build.fetching import Brought, Fetcher
from activities.build.git import Git
from activities.build.mirrors import Say
from activities.build.newest import Newest
from activities.build.sources import Sources
from activities.releases.failures import told
from apps.config import AppConfig, Source
from apps.fetched import Tree, Wanted
from apps.loader import LoadedApp
from apps.parts import SANDBOX, part_named
from apps.release import MODULE_ARTIFACT_TYPE, Descriptor
from artifacts.archive import ArchiveRefused, pack
from artifacts.files import make_private_folder
from artifacts.packages import push_package
from artifacts.registry import Registry
from contracts.builds import CheckSource, app_repository
from contracts.errors import BadConfig

_REMEMBERED = 16
"""Configs with what was fetched for them."""


@dataclass(frozen=True)
class FetchedParts:
    """A config that is whole, and the artifacts of those of its parts that lie elsewhere."""

    loaded: LoadedApp
    artifacts: Mapping[str, Descriptor]


class Fetching:
    """Fetches for builds; what is unchanged since it was last fetched is neither read nor packed.

    What a branch is now is asked each time, and so is the content of an address on the web: a
    build takes what is there when it runs, and the release records what that was.
    """

    def __init__(
        self, registry: Registry, sources: Sources, data: Path, git: Git | None = None
    ) -> None:
        """Push to `registry`, and keep what was fetched below `data`."""
        self._registry = registry
        self._sources = sources
        self._fetcher = Fetcher(data / "git", git)
        self._folder = data / "fetching"
        self._whole: Newest[Hashable, FetchedParts] = Newest(_REMEMBERED)
        # A worker that was killed left what it had fetched; the folder is this process's alone.
        shutil.rmtree(self._folder, ignore_errors=True)

    async def parts(self, request: CheckSource, wanted: Sequence[Wanted], say: Say) -> FetchedParts:
        """The config with all that it names elsewhere.

        Raises:
            BadConfig: with every problem, also of what was fetched.
            Unreachable, CredentialsRefused, EngineFailed, ToolMissing: as they say.
        """
        resolved = await self._fetcher.resolve(wanted, say)
        key = (request.app, request.source, resolved.key)
        known = self._whole.find(key)
        if known is not None and await asyncio.to_thread(self._are_there, request.app, known):
            return known
        make_private_folder(self._folder)
        with tempfile.TemporaryDirectory(dir=self._folder) as name:
            brought = await self._fetcher.bring(resolved, Path(name), say)
            found = await asyncio.to_thread(self._checked, request, brought)
        self._whole.keep(key, found)
        return found

    def _are_there(self, app: str, known: FetchedParts) -> bool:
        repository = app_repository(app)
        with told(f"app {app}", f"app {app} has no releases"):
            digests = {artifact.digest for artifact in known.artifacts.values()}
            return all(self._registry.has_manifest(repository, digest) for digest in digests)

    def _checked(self, request: CheckSource, brought: Brought) -> FetchedParts:
        loaded = self._sources.whole(request.source, brought.fetched)
        config = loaded.config.model_copy(update={"fetched": brought.sources})
        artifacts: dict[Source, Descriptor] = {}
        found: dict[str, Descriptor] = {}
        for part, source in _elsewhere(config).items():
            if source not in artifacts:
                tree = brought.fetched.trees[source]
                if not isinstance(tree, Tree):
                    raise AssertionError("the config is right, so its modules were fetched")
                artifacts[source] = self._packed(request.app, part, tree)
            found[part] = artifacts[source]
        return FetchedParts(replace(loaded, config=config), found)

    def _packed(self, app: str, part: str, tree: Tree) -> Descriptor:
        what = f"{part_named(part)} of app {app}"
        try:
            archive = pack(tree.folder)
        except ArchiveRefused as error:
            raise BadConfig(f"{part_named(part)}: {tree.name} cannot be packed: {error}") from None
        with told(what, f"{what} could not be pushed"):
            repository = app_repository(app)
            return push_package(self._registry, repository, MODULE_ARTIFACT_TYPE, archive)[0]


def _elsewhere(config: AppConfig) -> dict[str, Source]:
    """The parts whose modules lie elsewhere, and where."""
    parts = [*(one.name for one in config.components), SANDBOX]
    modules = {part: config.module(part) for part in parts}
    return {
        part: module.source
        for part, module in modules.items()
        if module is not None and not module.source.is_local
    }
