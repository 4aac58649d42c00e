"""An install worker whose activities are faked, behind the customer's guard."""

import json
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, cast

from temporalio.testing import ActivityEnvironment

from activities.customer.audit_log import FOLDER, AuditLog
from activities.customer.gate import Gate
from activities.customer.guard import CustomersGuard
from activities.customer.rules import Rules
from activities.operations.opening import Operations
from activities.plans.plan_store import PlanFiles, PlanRecord, save_plan
from activities.releases.reader import ReleaseReader
from activities.terraform.plan_json import SAVED
from activities.workplace import Workplace
from contracts.actions import StepInput
from contracts.deploys import ApplyInput, ScopeInput
from contracts.messages import Turn
from store.folder import FolderStore
from store.install_state import InstallState
from store.machine import Machine
from store.opening import folder_description
from store.turns import check_turn
from workers.engines import ENGINES

RELEASE = "sha256:" + "1" * 64
OTHER = "sha256:" + "2" * 64
DIGEST = "sha256:" + "d" * 64
SECRET = "hunter2-in-an-input"
PLAN_KEY = "run-1/net/plan/1"
NOON = datetime(2026, 1, 5, 12, tzinfo=UTC)


def operation(component: str = "net", **more: Any) -> dict[str, Any]:
    turn = Turn(number=7, workflow_id="deploy/acme/7")
    common = {"install": "acme", "app": "shop", "release": RELEASE, "component": component}
    return {**common, "turn": turn, "key": f"run-1/{component}/plan/1", **more}


def apply_input(key: str = "run-1/net/apply/2", **more: Any) -> ApplyInput:
    return ApplyInput(**operation(key=key, plan_key=PLAN_KEY, digest=DIGEST, **more))


def scope_input(release: str = RELEASE) -> ScopeInput:
    turn = {"number": 7, "workflow_id": "deploy/acme/7"}
    return ScopeInput.model_validate(
        {"install": "acme", "app": "shop", "release": release, "turn": turn, "inputs": {}}
    )


def step_input(release: str = RELEASE, action: str = "health") -> StepInput:
    return StepInput(
        install="acme", app="shop", release=release, action=action, step=0,
        key=f"run-{release[7:9]}/{action}/step/1", timeout_seconds=1,
    )  # fmt: skip


class Site:
    """What activities pass through on an install worker; the activities themselves are stubs."""

    def __init__(self, root: Path) -> None:
        self.store = FolderStore(root / "store")
        self.data = root / "data"
        self.file = root / "policy.toml"
        self.now = NOON
        self.done: list[str] = []
        self.beats: list[str] = []
        self.workplace = Workplace(
            engines=ENGINES,
            install="acme",
            org="dev",
            data=self.data,
            store=self.store,
            state=InstallState(self.store, "acme", "dev"),
            operations=Operations(
                self.store, folder_description(self.store.root), self.data, Machine.here(self.data)
            ),
            open_releases=lambda: cast(ReleaseReader, None),
            rules=Rules(self.file),
        )
        self.audit_log = AuditLog(self.data / FOLDER)
        gate = Gate(self.workplace, lambda: self.now)
        self.guard = CustomersGuard(self.workplace, self.audit_log, gate)
        self.environment = ActivityEnvironment()
        check_turn(self.store, 7, "deploy/acme/7")

    async def run(
        self,
        activity: str,
        argument: object,
        does: Callable[[], Any] = lambda: "done",
        check: Callable[[], None] = lambda: None,
    ) -> Any:
        async def body() -> Any:
            self.done.append(activity)
            return does()

        self.environment.info = replace(ActivityEnvironment().info, activity_type=activity)
        self.environment.on_heartbeat = lambda *details: self.beats.extend(map(str, details))
        return await self.environment.run(self.guard.run, [argument], check, body)

    def policy(self, text: str) -> None:
        self.file.write_text(text)

    def save_plan(self) -> None:
        record = PlanRecord(
            component="net", digest=DIGEST, teardown=False, plan_file="", tool="", providers="",
            state="", app="shop", release=RELEASE, artifact=OTHER, variables="v", environment="e",
        )  # fmt: skip
        view = "apply net: 1 to create\n\n+ x\n"
        save_plan(self.store, PLAN_KEY, SAVED, record, PlanFiles(b"", b"", view))

    def written(self) -> list[dict[str, Any]]:
        assert self.audit_log.verified().problems == []
        return [json.loads(raw) for raw in self.audit_log.lines()]
