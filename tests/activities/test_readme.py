"""The readme of an install, as its worker renders it."""

from pathlib import Path
from typing import cast

import pytest
from temporalio.testing import ActivityEnvironment

from activities.operations.opening import Operations
from activities.readme import ReadmeActivities
from activities.releases.reader import ReleaseReader
from activities.workplace import Workplace
from apps.config.app import AppConfig
from contracts.errors import NotThere
from contracts.readmes import README_LIMIT_BYTES, Readme, ReadReadme
from store.folder import FolderStore
from store.install_records import DeployedRelease
from store.install_state import InstallState
from workers.engines import ENGINES

RELEASE = "sha256:" + "1" * 64


class Site:
    def __init__(self, root: Path, readme: str) -> None:
        store = FolderStore(root / "store")
        self.state = InstallState(store, "acme", "dev")
        self.readme = readme
        self._activities = ReadmeActivities(
            Workplace(
                engines=ENGINES,
                install="acme",
                org="dev",
                data=root / "data",
                store=store,
                state=self.state,
                operations=cast(Operations, None),
                open_releases=lambda: cast(ReleaseReader, self),
            )
        )

    def config(self, app: str, release: str) -> AppConfig:
        metadata = {"version": "v2", "readme": self.readme}
        return AppConfig.model_validate({"metadata": metadata})

    async def read(self) -> Readme:
        return await ActivityEnvironment().run(self._activities.read, ReadReadme(install="acme"))

    def deploy(self) -> None:
        self.state.put_deployed(DeployedRelease(app="shop", release=RELEASE))


async def test_it_is_that_of_the_deployed_release(tmp_path: Path) -> None:
    site = Site(tmp_path, "# {{ .nuon.install.id }}\n{{ .nuon.components.db.outputs.url }}\n")
    with pytest.raises(NotThere, match="Nothing is provisioned or deployed to acme yet"):
        await site.read()
    site.deploy()
    found = await site.read()
    assert (found.app, found.release) == ("shop", RELEASE)
    assert found.text == "# acme\n{{ .nuon.components.db.outputs.url }}\n"
    assert len(found.problems) == 1 and "has no `db`" in found.problems[0]


async def test_an_app_without_one(tmp_path: Path) -> None:
    site = Site(tmp_path, "")
    site.deploy()
    with pytest.raises(NotThere, match="of app shop has no readme"):
        await site.read()


async def test_a_long_one_is_cut(tmp_path: Path) -> None:
    site = Site(tmp_path, "é" * README_LIMIT_BYTES)
    site.deploy()
    found = await site.read()
    assert found.is_cut and len(found.text.encode()) <= README_LIMIT_BYTES
