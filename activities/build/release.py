"""The activities of a build: check the source, pack each component, assemble the release."""

import asyncio
from collections.abc import Callable
from pathlib import Path, PurePosixPath
from typing import TypeVar

from temporalio import activity

from activities.build.sources import OpenSource, Sources
from activities.heartbeats import heartbeating
from activities.releases.failures import told
from activities.releases.graph import release_graph
from activities.releases.reading import CONFIG_LIMIT_BYTES, read_config
from apps.config import TerraformModule
from apps.frozen import freeze
from apps.parts import SANDBOX, part_named, part_shown
from apps.release import (
    CONFIG_ARTIFACT_TYPE,
    CONFIG_MEDIA_TYPE,
    INDEX_MEDIA_TYPE,
    MODULE_ARTIFACT_TYPE,
    Descriptor,
    ReleaseIndex,
)
from artifacts.archive import ArchiveRefused, pack
from artifacts.manifests import canonical_json
from artifacts.names import digest_of
from artifacts.packages import push_artifact, push_package
from artifacts.registry import Registry
from contracts import builds
from contracts.builds import (
    AssembledRelease,
    AssembleRelease,
    Blob,
    CheckedSource,
    CheckSource,
    PackComponent,
    PackedComponent,
    app_repository,
)
from contracts.errors import BadConfig, BadInput

R = TypeVar("R")


class BuildActivities:
    """Builds releases; equal content gives equal digests, on whichever worker and whenever."""

    def __init__(self, registry: Registry, data: Path) -> None:
        """Read sources from and push to `registry`; `data` is the worker's own folder."""
        self._registry = registry
        self._sources = Sources(registry, data)

    @activity.defn(name=builds.CHECK.name)
    async def check(self, request: CheckSource) -> CheckedSource:
        """Check the source, freeze its config, and push that to the app's repository."""
        return await _in_thread(lambda: self._check(request), f"checks {request.source}")

    @activity.defn(name=builds.PACK.name)
    async def pack(self, request: PackComponent) -> PackedComponent:
        """Pack the files of a component or of the sandbox, and push them if they are not there."""
        doing = f"packs {part_named(request.component)}"
        return await _in_thread(lambda: self._pack(request), doing)

    @activity.defn(name=builds.ASSEMBLE.name)
    async def assemble(self, request: AssembleRelease) -> AssembledRelease:
        """Push the index that names the config and the artifact of each part."""
        return await _in_thread(lambda: self._assemble(request), "assembles the release")

    def _check(self, request: CheckSource) -> CheckedSource:
        with self._sources.opened(request.source) as source:
            config = source.loaded.config
            frozen = freeze(config)
            if len(frozen) > CONFIG_LIMIT_BYTES:
                raise BadConfig(
                    f"the frozen config has {len(frozen)} bytes, more than {CONFIG_LIMIT_BYTES}: "
                    "move large contents into the components' modules"
                )
            # A vendor hears here, not at the first deploy, of a graph that no workflow takes.
            release_graph(request.app, request.source, config)
            warnings = [str(warning) for warning in source.loaded.warnings]
        what = f"config of app {request.app}"
        with told(what, f"{what} could not be pushed"):
            manifest, _ = push_artifact(
                self._registry,
                app_repository(request.app),
                CONFIG_ARTIFACT_TYPE,
                CONFIG_MEDIA_TYPE,
                frozen,
            )
        return CheckedSource(
            config=_blob(manifest),
            components=[component.name for component in config.components],
            sandbox=config.sandbox is not None,
            warnings=warnings,
        )

    def _pack(self, request: PackComponent) -> PackedComponent:
        part = part_named(request.component)
        with self._sources.opened(request.source) as source:
            module = source.loaded.config.module(request.component)
            if module is None:
                raise BadInput(f"source {request.source} has no {part}")
            archive = _packed(source, part, module)
        what = f"{part} of app {request.app}"
        with told(what, f"{what} could not be pushed"):
            manifest, reused = push_package(
                self._registry, app_repository(request.app), MODULE_ARTIFACT_TYPE, archive
            )
        return PackedComponent(component=request.component, artifact=_blob(manifest), reused=reused)

    def _assemble(self, request: AssembleRelease) -> AssembledRelease:
        repository = app_repository(request.app)
        what = f"release of app {request.app}"
        with told(what, f"{what}: its config {request.config.digest} is not there; build it again"):
            self._refuse_other_parts(request)
            index = ReleaseIndex(
                app=request.app,
                config=request.config.digest,
                components={name: blob.digest for name, blob in request.components.items()},
                sandbox=request.sandbox.digest if request.sandbox else None,
            )
            parts = [request.config, *request.components.values()]
            parts += [request.sandbox] if request.sandbox else []
            data = canonical_json(index.to_index([_descriptor(part) for part in parts]))
            digest = digest_of(data)
            reused = self._registry.has_manifest(repository, digest)
            if not reused:
                self._registry.push_manifest(repository, data, INDEX_MEDIA_TYPE)
        return AssembledRelease(release=digest, reused=reused)

    def _refuse_other_parts(self, request: AssembleRelease) -> None:
        config = read_config(self._registry, request.app, request.config.digest)
        expected = {component.name for component in config.components}
        expected |= {SANDBOX} if config.sandbox else set()
        given = {*request.components, *([SANDBOX] if request.sandbox else [])}
        if expected != given:
            raise BadInput(
                f"the config of app {request.app} has the parts {_shown(expected)}, and the "
                f"release was to be assembled of {_shown(given)}"
            )


async def _in_thread(work: Callable[[], R], doing: str) -> R:
    async with heartbeating() as say:
        say(doing)
        return await asyncio.to_thread(work)


def _packed(source: OpenSource, part: str, module: TerraformModule) -> bytes:
    directory = PurePosixPath(module.public_repo.directory)
    if directory.is_absolute() or ".." in directory.parts:
        raise BadConfig(f"{part}: {directory} is not within the config folder")
    try:
        return pack(source.folder / directory)
    except ArchiveRefused as error:
        raise BadConfig(f"{part}, folder {directory}: {error}") from error


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
