"""Parts whose modules are in other repositories: fetched, checked with the config, and packed."""

import asyncio
import shutil
import tempfile
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path, PurePosixPath

from activities.build.fetching import Download, Fetcher
from activities.build.git import Git
from activities.build.mirrors import Say
from activities.build.newest import Newest
from activities.build.sources import Sources
from activities.releases.failures import artifact_errors
from apps.config.app import AppConfig
from apps.config.parts import source_of
from apps.config.sources import Source
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
"""The number of configs that are remembered with their fetched parts."""


@dataclass(frozen=True)
class FetchedParts:
    """A complete config, and the artifacts of those parts that had to be fetched."""

    loaded: LoadedApp
    artifacts: Mapping[str, Descriptor]
    steps: Mapping[str, Descriptor] = field(default_factory=dict)
    """The artifacts of action steps that run in another repository, by `step_name`."""


class Fetching:
    """Fetches for builds; what has not changed since the last fetch is not read or packed again.

    Each build asks anew where a branch points and what a web address contains: a build takes what
    is there when it runs, and the release records what that was.
    """

    def __init__(
        self, registry: Registry, sources: Sources, data: Path, git: Git | None = None
    ) -> None:
        """Push to `registry`, and keep fetched files below `data`."""
        self._registry = registry
        self._sources = sources
        self._fetcher = Fetcher(data / "git", git)
        self._folder = data / "fetching"
        self._whole: Newest[Hashable, FetchedParts] = Newest(_REMEMBERED)
        # A killed worker may have left files here; no other process uses the folder.
        shutil.rmtree(self._folder, ignore_errors=True)

    async def parts(self, request: CheckSource, wanted: Sequence[Wanted], say: Say) -> FetchedParts:
        """The config, together with everything that it names elsewhere.

        Raises:
            BadConfig: with every problem, including those of what was fetched.
            Unreachable, CredentialsRefused, EngineFailed, ToolMissing: it cannot be fetched.
        """
        resolved = await self._fetcher.resolve(wanted, say)
        key = (request.app, request.source, resolved.key)
        known = self._whole.find(key)
        if known is not None and await asyncio.to_thread(self._are_there, request.app, known):
            return known
        make_private_folder(self._folder)
        with tempfile.TemporaryDirectory(dir=self._folder) as name:
            download = await self._fetcher.fetch(resolved, Path(name), say)
            found = await asyncio.to_thread(self._checked, request, download)
        self._whole.keep(key, found)
        return found

    def _are_there(self, app: str, known: FetchedParts) -> bool:
        repository = app_repository(app)
        with artifact_errors(f"app {app}", f"app {app} has no releases"):
            artifacts = (*known.artifacts.values(), *known.steps.values())
            digests = {artifact.digest for artifact in artifacts}
            return all(self._registry.has_manifest(repository, digest) for digest in digests)

    def _checked(self, request: CheckSource, download: Download) -> FetchedParts:
        loaded = self._sources.whole(request.source, download.fetched)
        config = loaded.config.model_copy(update={"fetched": download.sources})
        artifacts: dict[Source, Descriptor] = {}
        found: dict[str, Descriptor] = {}
        for part, source in _elsewhere(config).items():
            if source not in artifacts:
                tree = download.tree(source)
                root = loaded.roots.get(source, tree.directory)
                artifacts[source] = self._module(request.app, part_named(part), tree, root)
            found[part] = artifacts[source]
        scripts: dict[Source, Descriptor] = {}
        steps: dict[str, Descriptor] = {}
        for name, source in sources_of_steps(config).items():
            if source.is_local:
                continue
            if source not in scripts:
                scripts[source] = self._scripts(request.app, f"step {name}", download.tree(source))
            steps[name] = scripts[source]
        return FetchedParts(replace(loaded, config=config), found, steps)

    def _module(self, app: str, what: str, tree: Tree, root: str) -> Descriptor:
        archive = _archive(what, tree, tree.top / root)
        with artifact_errors(f"{what} of app {app}", f"{what} of app {app} could not be pushed"):
            return push_module(self._registry, app_repository(app), archive, tree.directory, root)[
                0
            ]

    def _scripts(self, app: str, what: str, tree: Tree) -> Descriptor:
        archive = _archive(what, tree, tree.folder)
        with artifact_errors(f"{what} of app {app}", f"{what} of app {app} could not be pushed"):
            return push_tree(self._registry, app_repository(app), archive, "")[0]


def _archive(what: str, tree: Tree, folder: Path) -> bytes:
    try:
        return pack(folder)
    except ArchiveRefused as error:
        raise BadConfig(f"{what}: {tree.name} cannot be packed: {error}") from None


def push_module(
    registry: Registry, repository: str, archive: bytes, directory: str, root: str
) -> tuple[Descriptor, bool]:
    """Push the archive of the folder `root`; the module is its subfolder `directory`, or all of it.

    Returns:
        As `push_package`. A module that is the whole folder gets the format that other tools read.
    """
    inner = PurePosixPath(directory).relative_to(root)
    if inner == PurePosixPath():
        return push_package(registry, repository, MODULE_ARTIFACT_TYPE, archive)
    return push_tree(registry, repository, archive, str(inner))


def sources_of_steps(config: AppConfig) -> dict[str, Source]:
    """The sources that action steps run in, by `step_name`; steps without a source are left out."""
    found = {
        step_name(action.name, index): source_of(step)
        for action in config.actions
        for index, step in enumerate(action.steps)
    }
    return {name: source for name, source in found.items() if source is not None}


def _elsewhere(config: AppConfig) -> dict[str, Source]:
    """The parts whose modules are in other repositories, with their sources."""
    sources = {name: source_of(part) for name, part in config.parts().items()}
    return {name: one for name, one in sources.items() if one is not None and not one.is_local}
