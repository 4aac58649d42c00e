"""One component with a real Terraform; its module and its store are folders of the test."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

from temporalio.testing import ActivityEnvironment

from activities.logs.activities import LogActivities
from activities.operations.opening import Operations
from activities.releases.reader import ReleaseReader
from activities.releases.unpacked import Unpacked
from activities.terraform.activities import TerraformActivities
from activities.terraform.state_keys import state_key
from activities.workplace import Workplace
from apps.config.app import AppConfig
from apps.config.components import TerraformComponent
from apps.config.metadata import Metadata
from contracts.deploys import Applied, ApplyInput, Plan, PlanInput
from contracts.logs import LogPage, ReadLog
from contracts.messages import Turn
from store.install_state import InstallState
from store.interface import Store
from store.machine import Machine
from store.opening import folder_description, open_store, s3_description
from store.s3_place import S3Place
from tests.terraform import the_terraform
from workers.engines import ENGINES

RELEASE = "sha256:" + "1" * 64
TURN = Turn(number=1, workflow_id="deploy/acme/1")


@dataclass
class Module:
    """What the release has: files by name, and fields of the component."""

    files: dict[str, str]
    component: dict[str, Any] = field(default_factory=dict)

    def config(self, app: str, release: str) -> AppConfig:
        base = {
            "type": "terraform_module", "name": "net", "terraform_version": "1.5",
            "public_repo": {"repo": ".", "directory": "m"},
        }  # fmt: skip
        component = TerraformComponent.model_validate(base | self.component)
        return AppConfig(metadata=Metadata(version="v2"), components=[component])

    def unpack_module(self, app: str, release: str, component: str, destination: Path) -> Unpacked:
        destination.mkdir(parents=True, exist_ok=True)
        for name, text in self.files.items():
            (destination / name).write_text(text)
        return Unpacked("sha256:artifact", destination)


class TerraformSite:
    """An install worker without a control plane."""

    def __init__(self, root: Path, place: S3Place | None = None) -> None:
        the_terraform()
        self.data = root / "data"
        self.data.mkdir(parents=True)
        description = s3_description(place) if place else folder_description(root / "store")
        self.store: Store = open_store(description)
        self.module = Module({})
        self.count = 0
        self.operations = Operations(self.store, description, self.data, Machine.here(self.data))

    @property
    def state(self) -> Path:
        path = self.store.local_path(state_key("net"))
        assert path is not None
        return path

    @property
    def folder(self) -> Path:
        return self.data / "work" / "acme" / "net"

    def runs(self, key: str) -> list[str]:
        """The runs of an operation, by number and label."""
        return sorted(path.name for path in (self.data / "runs" / key).iterdir() if path.is_dir())

    async def plan(self) -> tuple[str, Plan]:
        """Plan; returns the plan's key too."""
        self.count += 1
        input = PlanInput(key=f"run/net/plan/{self.count}", **self._common())
        return input.key, await ActivityEnvironment().run(self._activities().plan, input)

    async def apply(self, plan_key: str, plan: Plan, key: str | None = None) -> Applied:
        """Apply; with a key, another attempt of the same operation."""
        self.count += 1
        input = ApplyInput(
            key=key or f"run/net/apply/{self.count}",
            plan_key=plan_key,
            digest=plan.digest,
            **self._common(),
        )
        return await ActivityEnvironment().run(self._activities().apply, input)

    async def deploy(self) -> Applied:
        return await self.apply(*await self.plan())

    async def log(self, key: str) -> str:
        """The output of an operation's tools, with secrets masked."""
        activities, text, position = LogActivities(self._workplace()), "", 0
        while True:
            input = ReadLog(install="acme", key=key, position=position)
            page: LogPage = await ActivityEnvironment().run(activities.read, input)
            text += page.text
            if page.ended or not page.text:
                return text
            position = page.position

    def _activities(self) -> TerraformActivities:
        return TerraformActivities(self._workplace())

    def _workplace(self) -> Workplace:
        return Workplace(
            engines=ENGINES,
            install="acme",
            org="dev",
            data=self.data,
            store=self.store,
            state=InstallState(self.store, "acme", "dev"),
            operations=self.operations,
            open_releases=lambda: cast(ReleaseReader, self.module),
        )

    def _common(self) -> dict[str, Any]:
        return {
            "install": "acme", "app": "shop", "release": RELEASE, "component": "net", "turn": TURN,
        }  # fmt: skip
