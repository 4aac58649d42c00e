"""Calls an install worker's activities one at a time, with a folder as store and fake releases."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

from temporalio.testing import ActivityEnvironment

from activities.action.activities import ActionActivities
from activities.deploy.activities import DeployActivities
from activities.deploy.deprovision import DeprovisionActivities
from activities.deploy.provision import ProvisionActivities
from activities.operations.opening import Operations
from activities.releases.reader import ReleaseReader
from activities.releases.unpacked import Unpacked
from activities.terraform.activities import TerraformActivities
from activities.workplace import Workplace
from apps.config.app import AppConfig
from apps.parts import SANDBOX
from apps.release import ReleaseIndex
from contracts.deploys import (
    Applied,
    ApplyInput,
    Decision,
    FinishInput,
    Inputs,
    Plan,
    PlanInput,
    Scope,
    ScopeInput,
)
from contracts.errors import NotThere
from contracts.messages import Turn
from contracts.provisions import DeprovisionFinishInput, DeprovisionScopeInput
from store.folder import FolderStore
from store.install_records import ComponentRecord
from store.install_state import InstallState
from store.machine import Machine
from store.opening import folder_description
from workers.engines import ENGINES

Files = Mapping[str, str]


def module(**fields: Any) -> dict[str, Any]:
    return {
        "terraform_version": "1.5", "public_repo": {"repo": ".", "directory": "m"}, **fields,
    }  # fmt: skip


def component(name: str, *dependencies: str, **fields: Any) -> dict[str, Any]:
    own = {"type": "terraform_module", "name": name, "dependencies": list(dependencies)}
    return module(**own, **fields)


def input_of(name: str, **fields: Any) -> dict[str, Any]:
    return {"name": name, "display_name": name, "description": name, **fields}


def action(name: str, *triggers: Mapping[str, Any], command: str = "true") -> dict[str, Any]:
    return {
        "name": name, "triggers": list(triggers), "steps": [{"name": "one", "command": command}],
    }  # fmt: skip


def digest(content: object) -> str:
    return "sha256:" + hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


@dataclass
class Releases:
    """Stands in for the worker's release reader, without a registry."""

    configs: dict[str, AppConfig] = field(default_factory=dict)
    modules: dict[str, dict[str, Files]] = field(default_factory=dict)
    """By release, then by part."""

    def add(self, modules: Mapping[str, Files] | None = None, **config: Any) -> str:
        """Make a release from the config and the modules' files; returns its digest."""
        read = AppConfig.model_validate({"metadata": {"version": "v2"}, **config})
        parts = [*(one.name for one in read.components), *([SANDBOX] if read.sandbox else [])]
        files: dict[str, Files] = {part: dict((modules or {}).get(part, {})) for part in parts}
        release = digest([read.model_dump(mode="json"), files])
        self.configs[release], self.modules[release] = read, files
        return release

    def config(self, app: str, release: str) -> AppConfig:
        if release not in self.configs:
            raise NotThere(f"release {release} is not one of app {app}")
        return self.configs[release]

    def index(self, app: str, release: str) -> ReleaseIndex:
        artifacts = {part: digest(files) for part, files in self.modules[release].items()}
        sandbox = artifacts.pop(SANDBOX, None)
        return ReleaseIndex(app, digest("config"), artifacts, sandbox)

    def unpack_module(self, app: str, release: str, part: str, destination: Path) -> Unpacked:
        destination.mkdir(parents=True, exist_ok=True)
        for name, text in self.modules[release][part].items():
            (destination / name).write_text(text)
        return Unpacked(digest(self.modules[release][part]), destination)


class DeploySite:
    """The install `acme` of the app `shop`; each run begins with a new turn."""

    def __init__(self, root: Path, releases: ReleaseReader | None = None) -> None:
        self.data = root / "data"
        self.data.mkdir(parents=True)
        self.store = FolderStore(root / "store")
        self.state = InstallState(self.store, "acme", "dev")
        self.machine = Machine.here(self.data)
        self.releases = Releases()
        self.turn = Turn(number=0, workflow_id="")
        self.revision = 0
        self._count = 0
        described = folder_description(self.store.root)
        self.workplace = Workplace(
            engines=ENGINES,
            install="acme",
            org="dev",
            data=self.data,
            store=self.store,
            state=self.state,
            operations=Operations(self.store, described, self.data, self.machine),
            open_releases=lambda: releases or cast(ReleaseReader, self.releases),
        )
        self.actions = ActionActivities(self.workplace)
        self.terraform = TerraformActivities(self.workplace)

    def begin(self, kind: str) -> None:
        """Begin a new run, with the next turn."""
        number = self.turn.number + 1
        self.turn = Turn(number=number, workflow_id=f"{kind}/acme/{number}")
        self._count = 0

    async def provision_scope(self, release: str, **inputs: str) -> Scope:
        self.begin("provision")
        activity = ProvisionActivities(self.workplace).scope
        return self._seen(await ActivityEnvironment().run(activity, self._scope(release, inputs)))

    async def provision_finish(self, release: str) -> None:
        activity = ProvisionActivities(self.workplace).finish
        await ActivityEnvironment().run(activity, self._finish(release))

    async def deploy_scope(self, release: str, **inputs: str) -> Scope:
        self.begin("deploy")
        activity = DeployActivities(self.workplace).scope
        return self._seen(await ActivityEnvironment().run(activity, self._scope(release, inputs)))

    async def deploy_finish(self, release: str) -> None:
        activity = DeployActivities(self.workplace).finish
        await ActivityEnvironment().run(activity, self._finish(release))

    async def deprovision_scope(self) -> Scope:
        self.begin("deprovision")
        activity = DeprovisionActivities(self.workplace).scope
        input = DeprovisionScopeInput(install="acme", app="shop", turn=self.turn)
        return self._seen(await ActivityEnvironment().run(activity, input))

    async def deprovision_finish(self, turn: Turn | None = None) -> None:
        activity = DeprovisionActivities(self.workplace).finish
        input = DeprovisionFinishInput(install="acme", app="shop", turn=turn or self.turn)
        await ActivityEnvironment().run(activity, input)

    async def plan(self, decision: Decision) -> tuple[str, Plan]:
        """Plan as decided; returns the plan's key too."""
        key, common = self._operation(decision, "plan")
        input = PlanInput(key=key, teardown=decision.verb == "teardown", **common)
        return key, await ActivityEnvironment().run(self.terraform.plan, input)

    async def settle(self, decision: Decision) -> Applied | Plan:
        """Plan as decided, and apply the plan unless it is empty."""
        plan_key, plan = await self.plan(decision)
        if plan.empty:
            return plan
        key, common = self._operation(decision, "apply")
        teardown = decision.verb == "teardown"
        input = ApplyInput(
            key=key, plan_key=plan_key, digest=plan.digest, teardown=teardown, **common
        )
        applied = await ActivityEnvironment().run(self.terraform.apply, input)
        self.revision = applied.state_revision
        return applied

    def deployed(self, part: str, release: str, *dependencies: str, **fields: Any) -> None:
        """Record a part as deployed, without any tool."""
        base = {
            "component": part, "type": "terraform_module", "status": "done", "app": "shop",
            "release": release, "artifact": "a", "config": "c", "dependencies": dependencies,
        }  # fmt: skip
        self.state.put_component(ComponentRecord.model_validate(base | fields))

    def left(self) -> list[str]:
        """What the store holds apart from journals."""
        return [key for key in self.store.list("") if not key.startswith("journals/")]

    def _seen(self, scope: Scope) -> Scope:
        self.revision = scope.state_revision
        return scope

    def _scope(self, release: str, values: dict[str, str]) -> ScopeInput:
        inputs = Inputs(revision=self.turn.number, values=values)
        return ScopeInput(
            install="acme", app="shop", release=release, turn=self.turn, inputs=inputs
        )

    def _finish(self, release: str) -> FinishInput:
        return FinishInput(install="acme", app="shop", release=release, turn=self.turn)

    def _operation(self, decision: Decision, verb: str) -> tuple[str, dict[str, Any]]:
        self._count += 1
        run = self.turn.workflow_id.replace("/", "-")
        return f"{run}/{decision.component}/{verb}/{self._count}", {
            "install": "acme", "app": "shop", "release": decision.release,
            "component": decision.component, "turn": self.turn, "state_revision": self.revision,
        }  # fmt: skip
