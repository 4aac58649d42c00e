"""A config that names repositories, and a worker that builds it."""

import zipfile
from io import BytesIO
from pathlib import Path

import pytest
from temporalio.exceptions import ApplicationError
from temporalio.testing import ActivityEnvironment

from activities.build.release import BuildActivities
from artifacts.manifests import parse_manifest
from artifacts.registry import Registry
from artifacts.sources import push_source
from contracts.builds import AssembleRelease, CheckedSource, CheckSource
from contracts.errors import Unreachable
from tests.git_repositories import Repositories

MODULE = 'variable "region" {\n  type = string\n}\noutput "id" {\n  value = var.region\n}\n'


def component(name: str, repo: str, directory: str, branch: str = "main", more: str = "") -> str:
    return (
        f'name = "{name}"\ntype = "terraform_module"\nterraform_version = "1.11.0"\n'
        f'[public_repo]\nrepo = "{repo}"\ndirectory = "{directory}"\nbranch = "{branch}"\n'
        f'[vars]\nregion = "here"\n{more}'
    )


class Vendor:
    """A config that names repositories, and a worker that builds it."""

    def __init__(self, folder: Path, registry: Registry, repositories: Repositories) -> None:
        self.folder = folder / "app"
        self.registry = registry
        self.repositories = repositories
        self.data = folder / "data"
        self.activities = BuildActivities(registry, self.data)
        self.beats: list[str] = []
        self.write("metadata.toml", 'version = "v2"\n')

    def write(self, file: str, text: str) -> None:
        path = self.folder / file
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    async def check(self) -> CheckedSource:
        source = push_source(self.registry, self.folder)
        environment = ActivityEnvironment()
        environment.on_heartbeat = lambda *details: self.beats.extend(map(str, details))
        request = CheckSource(app="shop", source=source)
        return await environment.run(self.activities.check, request)

    async def build(self) -> tuple[CheckedSource, str, bool]:
        checked = await self.check()
        components = dict(checked.packed)
        request = AssembleRelease(
            app="shop",
            config=checked.config,
            sandbox=components.pop("_sandbox", None),
            components=components,
            steps=checked.steps,
        )
        built = await ActivityEnvironment().run(self.activities.assemble, request)
        return checked, built.release, built.reused

    async def refused(self, kind: type[ApplicationError]) -> str:
        with pytest.raises(kind) as error:
            await self.check()
        assert error.value.type == kind.__name__
        assert error.value.non_retryable is (kind is not Unreachable)
        assert str(self.folder.parent) not in error.value.message.replace(
            str(self.repositories.served), ""
        )
        return error.value.message

    def packed(self, digest: str) -> dict[str, bytes]:
        manifest = parse_manifest(self.registry.get_manifest("apps/shop", digest))
        data = self.registry.get_blob("apps/shop", manifest.layers[0].digest)
        archive = zipfile.ZipFile(BytesIO(data))
        return {name: archive.read(name) for name in archive.namelist()}

    def mirrors(self) -> list[Path]:
        return sorted((self.data / "git").glob("*.git"))
