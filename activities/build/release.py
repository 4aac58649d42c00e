"""The activities of a build: check the source, pack each component, assemble the release."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import TypeVar

from temporalio import activity

from activities.build.fetched_parts import FetchedParts, Fetching, push_module, sources_of_steps
from activities.build.newest import Newest
from activities.build.patience import retry_or_give_up
from activities.build.sources import Sources
from activities.heartbeats import heartbeating
from activities.releases.failures import artifact_errors
from activities.releases.graph import release_graph
from activities.releases.reading import CONFIG_LIMIT_BYTES, read_config
from apps.config.app import AppConfig
from apps.config.parts import source_of
from apps.config.sources import Source
from apps.frozen import freeze
from apps.loader import LoadedApp
from apps.parts import SANDBOX, part_named, part_shown
from apps.release import (
    CONFIG_ARTIFACT_TYPE,
    CONFIG_MEDIA_TYPE,
    INDEX_MEDIA_TYPE,
    Descriptor,
    ReleaseIndex,
)
from artifacts.manifests import canonical_json
from artifacts.names import digest_of
from artifacts.packages import push_artifact, push_tree
from artifacts.registry import Registry
from contracts import builds
from contracts.builds import (
    AssembledRelease,
    AssembleRelease,
    Blob,
    CheckedSource,
    CheckSource,
    FetchedSource,
    PackComponent,
    PackedComponent,
    app_repository,
)
from contracts.engines import ENGINES, EngineSpec, deployable
from contracts.errors import BadConfig, BadInput, Unreachable

R = TypeVar("R")

_REMEMBERED = 10_000
"""The number of artifacts that are remembered, with a few hundred bytes each."""


class BuildActivities:
    """Builds releases; equal content gives equal digests, on any worker at any time.

    This process does not read and pack the same source twice: it remembers the digests of the
    artifacts, and checks that they are still in the registry.
    """

    def __init__(
        self, registry: Registry, data: Path, engines: Sequence[EngineSpec] = ENGINES
    ) -> None:
        """Read sources from and push to `registry`; `data` is the worker's data folder.

        A config may have components of those types that `engines` deploy.
        """
        self._registry = registry
        self._sources = Sources(registry, data, deployable(engines))
        self._fetching = Fetching(registry, self._sources, data)
        self._packed: Newest[PackComponent, Descriptor] = Newest(_REMEMBERED)

    @activity.defn(name=builds.CHECK.name)
    async def check(self, request: CheckSource) -> CheckedSource:
        """Check the source, freeze its config, and push that to the app's repository."""
        async with heartbeating() as say:
            say(f"checks {request.source}")
            loaded = await asyncio.to_thread(self._sources.loaded, request.source)
            _require_buildable(loaded)
            fetched = FetchedParts(loaded, {})
            if loaded.wanted:
                try:
                    fetched = await self._fetching.parts(request, loaded.wanted, say)
                except Unreachable as error:
                    raise retry_or_give_up(error) from error
                say(f"checks and packs what was fetched for {request.source}")
            return await asyncio.to_thread(self._check, request, fetched)

    @activity.defn(name=builds.PACK.name)
    async def pack(self, request: PackComponent) -> PackedComponent:
        """Pack the files of a component or the sandbox, and push them unless they are there."""
        doing = f"packs {part_named(request.component)}"
        return await _in_thread(lambda: self._pack(request), doing)

    @activity.defn(name=builds.ASSEMBLE.name)
    async def assemble(self, request: AssembleRelease) -> AssembledRelease:
        """Push the index that names the config and each part's artifact."""
        return await _in_thread(lambda: self._assemble(request), "assembles the release")

    def _check(self, request: CheckSource, fetched: FetchedParts) -> CheckedSource:
        loaded, config = fetched.loaded, fetched.loaded.config
        frozen = freeze(config)
        if len(frozen) > CONFIG_LIMIT_BYTES:
            raise BadConfig(
                f"the frozen config has {len(frozen)} bytes, more than {CONFIG_LIMIT_BYTES}: "
                "move large contents into the components' modules"
            )
        # Refuses a graph that no workflow accepts now, rather than at the first deploy.
        release_graph(request.app, request.source, config)
        what = f"config of app {request.app}"
        with artifact_errors(what, f"{what} could not be pushed"):
            manifest, _ = push_artifact(
                self._registry,
                app_repository(request.app),
                CONFIG_ARTIFACT_TYPE,
                CONFIG_MEDIA_TYPE,
                frozen,
            )
            steps = self._steps(request, config, fetched.steps)
            packed = self._known_parts(
                request, manifest, list(config.parts()), fetched.artifacts, steps
            )
        return CheckedSource(
            config=_blob(manifest),
            components=[component.name for component in config.components],
            sandbox=config.sandbox is not None,
            warnings=[str(problem) for problem in (*loaded.warnings, *loaded.notes)],
            packed={part: _blob(artifact) for part, artifact in packed.items()},
            steps={name: _blob(artifact) for name, artifact in steps.items()},
            fetched=[FetchedSource(**one.model_dump()) for one in config.fetched],
        )

    def _pack(self, request: PackComponent) -> PackedComponent:
        part = part_named(request.component)
        what = f"{part} of app {request.app}"
        with artifact_errors(what, f"{what} could not be pushed"):
            manifest, reused = self._known(request), True
            if manifest is None:
                manifest, reused = self._packed_module(request, part)
                self._packed.keep(request, manifest)
        return PackedComponent(component=request.component, artifact=_blob(manifest), reused=reused)

    def _known_parts(
        self,
        request: CheckSource,
        config: Descriptor,
        parts: list[str],
        fetched: Mapping[str, Descriptor],
        steps: Mapping[str, Descriptor],
    ) -> dict[str, Descriptor]:
        """The fetched parts, and those parts whose remembered artifacts are in the registry."""
        asked = {
            part: PackComponent(app=request.app, source=request.source, component=part)
            for part in parts
            if part not in fetched
        }
        found = {part: self._packed.find(one) for part, one in asked.items()} | dict(fetched)
        all_found = {part: artifact for part, artifact in found.items() if artifact is not None}
        if len(all_found) == len(parts):
            # A release that is there has all of its parts: one request instead of one for each.
            release = digest_of(_index(request.app, config, all_found, steps))
            if self._registry.has_manifest(app_repository(request.app), release):
                return all_found
        still_there = {part: self._known(one) for part, one in asked.items()}
        return {
            part: artifact
            for part, artifact in (still_there | dict(fetched)).items()
            if artifact is not None
        }

    def _known(self, request: PackComponent) -> Descriptor | None:
        found = self._packed.find(request)
        repository = app_repository(request.app)
        if found is not None and self._registry.has_manifest(repository, found.digest):
            return found
        return None

    def _steps(
        self, request: CheckSource, config: AppConfig, fetched: Mapping[str, Descriptor]
    ) -> dict[str, Descriptor]:
        """The artifacts that action steps run in: fetched ones, and folders of the config."""
        found = dict(fetched)
        for name, source in sources_of_steps(config).items():
            if source.is_local:
                archive = self._sources.pack(request.source, _within(f"step {name}", source))
                found[name], _ = push_tree(self._registry, app_repository(request.app), archive, "")
        return found

    def _packed_module(self, request: PackComponent, part: str) -> tuple[Descriptor, bool]:
        loaded = self._sources.loaded(request.source)
        model = loaded.config.part(request.component)
        if model is None:
            raise BadInput(f"source {request.source} has no {part}")
        source = source_of(model)
        if source is None:
            raise BadInput(f"{part} has no files that could be packed")
        if not source.is_local:
            raise BadInput(f"{part} is in another repository; build.check fetches and packs it")
        directory = _within(part, source)
        root = PurePosixPath(loaded.roots.get(source.place, directory))
        archive = self._sources.pack(request.source, root)
        repository = app_repository(request.app)
        return push_module(self._registry, repository, archive, str(directory), str(root))

    def _assemble(self, request: AssembleRelease) -> AssembledRelease:
        repository = app_repository(request.app)
        what = f"release of app {request.app}"
        artifacts = {name: _descriptor(blob) for name, blob in request.components.items()}
        if request.sandbox:
            artifacts[SANDBOX] = _descriptor(request.sandbox)
        steps = {name: _descriptor(blob) for name, blob in request.steps.items()}
        data = _index(request.app, _descriptor(request.config), artifacts, steps)
        digest = digest_of(data)
        missing = f"{what}: its config {request.config.digest} is not there; build it again"
        with artifact_errors(what, missing):
            reused = self._registry.has_manifest(repository, digest)
            if not reused:
                self._refuse_other_parts(request, set(artifacts), set(steps))
                self._registry.push_manifest(repository, data, INDEX_MEDIA_TYPE)
        return AssembledRelease(release=digest, reused=reused)

    def _refuse_other_parts(
        self, request: AssembleRelease, given: set[str], steps: set[str]
    ) -> None:
        config = read_config(self._registry, request.app, request.config.digest)
        expected, expected_steps = set(config.parts()), set(sources_of_steps(config))
        if expected != given:
            raise BadInput(
                f"the config of app {request.app} has the parts {_shown(expected)}, and the "
                f"release was to be assembled of {_shown(given)}"
            )
        if expected_steps != steps:
            raise BadInput(
                f"the config of app {request.app} has steps that run in repositories "
                f"({sorted(expected_steps)}), and the release was to be assembled of those of "
                f"{sorted(steps)}"
            )


def _require_buildable(loaded: LoadedApp) -> None:
    if loaded.unbuildable:
        notes = "\n".join(str(note) for note in loaded.unbuildable)
        raise BadConfig(f"the app config is valid, but cannot be built yet:\n{notes}")


async def _in_thread(work: Callable[[], R], doing: str) -> R:
    async with heartbeating() as say:
        say(doing)
        return await asyncio.to_thread(work)


def _within(what: str, source: Source) -> PurePosixPath:
    directory = PurePosixPath(source.directory)
    if directory.is_absolute() or ".." in directory.parts:
        raise BadConfig(f"{what}: {directory} is not within the config folder")
    return directory


def _index(
    app: str,
    config: Descriptor,
    artifacts: Mapping[str, Descriptor],
    steps: Mapping[str, Descriptor],
) -> bytes:
    """The manifest of the release with these artifacts, given by the names of parts and steps."""
    digests = {part: artifact.digest for part, artifact in artifacts.items()}
    index = ReleaseIndex(
        app=app,
        config=config.digest,
        sandbox=digests.pop(SANDBOX, None),
        components=digests,
        steps={name: artifact.digest for name, artifact in steps.items()},
    )
    return canonical_json(index.to_index([config, *artifacts.values(), *steps.values()]))


def _shown(parts: set[str]) -> list[str]:
    return sorted(part_shown(part) for part in parts)


def _blob(descriptor: Descriptor) -> Blob:
    return Blob(
        media_type=descriptor.media_type,
        artifact_type=descriptor.artifact_type,
        digest=descriptor.digest,
        size=descriptor.size,
    )


def _descriptor(blob: Blob) -> Descriptor:
    return Descriptor(blob.media_type, blob.digest, blob.size, blob.artifact_type)
