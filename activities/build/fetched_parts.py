"""The parts of a config whose modules lie elsewhere: fetched, checked with the rest, and packed."""

import asyncio
import shutil
import tempfile
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path, PurePosixPath

from activities.build.fetching import Brought, Fetcher
from activities.build.git import Git
from activities.build.mirrors import Say
from activities.build.newest import Newest
from activities.build.sources import Sources
from activities.releases.failures import told
from apps.config import AppConfig, Source
from apps.config.parts import source_of
from apps.loader import LoadedApp
from apps.parts import part_named, step_name
from apps.reading.fetched import Tree, Wanted
from apps.release import MODULE_ARTIFACT_TYPE, Descriptor
from artifacts.archive import ArchiveRefused, pack
from artifacts.packages import push_package, push_tree
from artifacts.registry import Registry
from contracts.builds import CheckSource, app_repository
from contracts.errors import BadConfig
from wire.private_files import make_private_folder

_REMEMBERED = 16
"""Configs with what was fetched for them."""


@dataclass(frozen=True)
class FetchedParts:
    """A config that is whole, and the artifacts of those of its parts that lie elsewhere."""

    loaded: LoadedApp
    artifacts: Mapping[str, Descriptor]
    steps: Mapping[str, Descriptor] = field(default_factory=dict)
    """Of the steps of actions that run in a repository elsewhere, by `step_name`."""


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
            artifacts = (*known.artifacts.values(), *known.steps.values())
            digests = {artifact.digest for artifact in artifacts}
            return all(self._registry.has_manifest(repository, digest) for digest in digests)

    def _checked(self, request: CheckSource, brought: Brought) -> FetchedParts:
        loaded = self._sources.whole(request.source, brought.fetched)
        config = loaded.config.model_copy(update={"fetched": brought.sources})
        artifacts: dict[Source, Descriptor] = {}
        found: dict[str, Descriptor] = {}
        for part, source in _elsewhere(config).items():
            if source not in artifacts:
                tree = brought.tree(source)
                root = loaded.roots.get(source, tree.directory)
                artifacts[source] = self._module(request.app, part_named(part), tree, root)
            found[part] = artifacts[source]
        scripts: dict[Source, Descriptor] = {}
        steps: dict[str, Descriptor] = {}
        for name, source in sources_of_steps(config).items():
            if source.is_local:
                continue
            if source not in scripts:
                scripts[source] = self._scripts(request.app, f"step {name}", brought.tree(source))
            steps[name] = scripts[source]
        return FetchedParts(replace(loaded, config=config), found, steps)

    def _module(self, app: str, what: str, tree: Tree, root: str) -> Descriptor:
        archive = _archive(what, tree, tree.top / root)
        with told(f"{what} of app {app}", f"{what} of app {app} could not be pushed"):
            return push_module(self._registry, app_repository(app), archive, tree.directory, root)[
                0
            ]

    def _scripts(self, app: str, what: str, tree: Tree) -> Descriptor:
        archive = _archive(what, tree, tree.folder)
        with told(f"{what} of app {app}", f"{what} of app {app} could not be pushed"):
            return push_tree(self._registry, app_repository(app), archive, "")[0]


def _archive(what: str, tree: Tree, folder: Path) -> bytes:
    try:
        return pack(folder)
    except ArchiveRefused as error:
        raise BadConfig(f"{what}: {tree.name} cannot be packed: {error}") from None


def push_module(
    registry: Registry, repository: str, archive: bytes, directory: str, root: str
) -> tuple[Descriptor, bool]:
    """Push the archive of the folder `root`, in or below which the module is `directory`.

    Returns:
        As `push_package`: a module that is all of it is packed as other tools know modules.
    """
    inner = PurePosixPath(directory).relative_to(root)
    if inner == PurePosixPath():
        return push_package(registry, repository, MODULE_ARTIFACT_TYPE, archive)
    return push_tree(registry, repository, archive, str(inner))


def sources_of_steps(config: AppConfig) -> dict[str, Source]:
    """What the steps of actions run in, by `step_name`; without those that run in nothing."""
    found = {
        step_name(action.name, index): source_of(step)
        for action in config.actions
        for index, step in enumerate(action.steps)
    }
    return {name: source for name, source in found.items() if source is not None}


def _elsewhere(config: AppConfig) -> dict[str, Source]:
    """The parts whose modules lie elsewhere, and where."""
    sources = {name: source_of(part) for name, part in config.parts().items()}
    return {name: one for name, one in sources.items() if one is not None and not one.is_local}
