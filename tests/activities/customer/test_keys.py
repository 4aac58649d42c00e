"""An operation's key is bound to what was first allowed under it, and to nothing else."""

import asyncio
import hashlib
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import pytest
from temporalio.testing import ActivityEnvironment

from activities.action.activities import ActionActivities
from activities.customer.audit_log import FOLDER, AuditLog
from activities.customer.guard import CustomersGuard
from activities.customer.rules import Rules
from activities.operations.opening import Operations
from activities.releases.reader import ReleaseReader
from activities.workplace import Workplace
from apps.config.app import AppConfig
from contracts import actions, deploys
from contracts.actions import StepInput
from contracts.deploys import ApplyInput, PlanInput
from contracts.errors import PolicyDenied
from contracts.messages import Turn
from store.folder import FolderStore
from store.install_state import InstallState
from store.journal import Journal
from store.machine import Machine
from store.opening import folder_description
from store.turns import check_turn
from workers.engines import ENGINES

RELEASE = "sha256:" + "1" * 64
OTHER = "sha256:" + "2" * 64
DIGEST = "sha256:" + "d" * 64
KEY = "run-1/good/step/0"
TURN = Turn(number=7, workflow_id="deploy/acme/7")


class Site:
    """A worker with the actions `good` and `bad`, of two steps each, behind the guard."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.store = FolderStore(root / "store")
        self.data = root / "data"
        self.file = root / "policy.toml"
        self.state = InstallState(self.store, "acme", "dev")
        self.workplace = Workplace(
            engines=ENGINES,
            install="acme",
            org="dev",
            data=self.data,
            store=self.store,
            state=self.state,
            operations=Operations(
                self.store, folder_description(self.store.root), self.data, Machine.here(self.data)
            ),
            open_releases=lambda: cast(ReleaseReader, self),
            rules=Rules(self.file),
        )
        self.audit_log = AuditLog(self.data / FOLDER)
        self.guard = CustomersGuard(self.workplace, self.audit_log)
        self.activities = ActionActivities(self.workplace)
        check_turn(self.store, 7, TURN.workflow_id)

    def config(self, app: str, release: str) -> AppConfig:
        def steps(name: str) -> list[dict[str, Any]]:
            return [
                {"name": f"{name}-{number}", "command": self.text(f"{name}-{number}", release)}
                for number in (0, 1)
            ]

        named = [{"name": name, "steps": steps(name)} for name in ("good", "bad")]
        return AppConfig.model_validate({"metadata": {"version": "v2"}, "actions": named})

    def text(self, what: str, release: str) -> str:
        """A script that leaves a copy of itself."""
        copy = self.root / f"ran-{what}-{release[7]}"
        return f'cat "$0" > {copy}.new; mv {copy}.new {copy}'

    def ran(self) -> dict[str, str]:
        """What ran, with the digest of the script."""
        return {
            path.name: f"sha256:{hashlib.sha256(path.read_bytes()).hexdigest()}"
            for path in self.root.glob("ran-*")
        }

    def policy(self, text: str = "") -> None:
        self.file.write_text("ad_hoc_scripts = true\n" + text)

    async def step(self, **more: Any) -> Any:
        return await self.run(actions.STEP.name, step_input(**more))

    async def run(self, activity: str, argument: Any) -> Any:
        environment = ActivityEnvironment()
        environment.info = replace(ActivityEnvironment().info, activity_type=activity)

        async def body() -> Any:
            if isinstance(argument, StepInput):
                return await self.activities.step(argument)
            return "done"

        return await environment.run(self.guard.run, [argument], lambda: None, body)

    def written(self, kind: str) -> list[dict[str, Any]]:
        assert self.audit_log.verified().problems == []
        lines = [json.loads(raw) for raw in self.audit_log.lines()]
        return [line for line in lines if line["kind"] == kind]


def step_input(**more: Any) -> StepInput:
    common = {"install": "acme", "app": "shop", "release": RELEASE, "action": "good", "step": 0}
    return StepInput.model_validate({"key": KEY, "timeout_seconds": 30, **common, **more})


def plan_input(**more: Any) -> PlanInput:
    return PlanInput.model_validate(_part() | more)


def apply_input(**more: Any) -> ApplyInput:
    return ApplyInput.model_validate(
        _part() | {"plan_key": "run-1/net/plan/1", "digest": DIGEST} | more
    )


def activity_of(input: Any) -> str:
    if isinstance(input, StepInput):
        return actions.STEP.name
    is_plan = isinstance(input, PlanInput)
    return deploys.TERRAFORM_PLAN.name if is_plan else deploys.TERRAFORM_APPLY.name


def _part() -> dict[str, Any]:
    return {
        "install": "acme", "app": "shop", "release": RELEASE, "component": "good", "turn": TURN,
        "key": KEY,
    }  # fmt: skip


@pytest.fixture
def site(tmp_path: Path) -> Site:
    site = Site(tmp_path)
    site.policy()
    return site


async def until(condition: Callable[[], object]) -> None:
    async with asyncio.timeout(30):
        while not condition():
            await asyncio.sleep(0)


@pytest.mark.process
@pytest.mark.parametrize(
    "forbidding", ['actions = ["good"]', "actions = []", "operations = []", "half of a"]
)
async def test_what_is_forbidden_does_not_pass_beside_what_is_allowed(
    site: Site, forbidding: str
) -> None:
    """Tried while the supervisor of the first one starts; both have the same key."""
    good = asyncio.create_task(site.step())
    await until(lambda: (entry := Journal(site.store).entry(KEY)) and entry.runs)
    site.policy(forbidding)
    with pytest.raises(PolicyDenied) as caught:
        await site.step(action="bad")
    assert caught.value.non_retryable
    await good
    [ran] = site.written("ran")
    assert site.ran() == {"ran-good-0-1": ran["script"]}
    assert {one["action"]: one["verdict"] for one in site.written("told")} == {
        "good": "allowed", "bad": "refused",
    }  # fmt: skip


@pytest.mark.process
async def test_of_two_that_are_allowed_one_has_the_key(site: Site) -> None:
    for number in range(5):
        key = f"run-{number}/good/step/0"
        both = [site.step(key=key), site.step(key=key, step=1)]
        ended = await asyncio.gather(*both, return_exceptions=True)
        [denied] = [one for one in ended if isinstance(one, BaseException)]
        assert isinstance(denied, PolicyDenied)
        assert f"The key {key} was allowed for action.step (app shop" in str(denied)
        [ran] = site.written("ran")[number:]
        [done] = list(site.root.glob("ran-*"))
        assert site.ran() == {done.name: ran["script"]}
        done.unlink()
    told = site.written("told")
    assert [one["verdict"] for one in told].count("refused") == 5


@pytest.mark.process
@pytest.mark.parametrize(
    "other",
    [
        step_input(action="bad"),
        step_input(step=1),
        step_input(release=OTHER),
        step_input(app="other"),
        plan_input(),
        apply_input(),
    ],
)
async def test_nothing_else_passes_later(site: Site, other: Any) -> None:
    result = await site.step()
    with pytest.raises(PolicyDenied, match=f"{KEY} was allowed for|'{KEY}' cannot be the key of"):
        await site.run(activity_of(other), other)
    assert site.written("told")[-1]["verdict"] == "refused"
    assert site.written("ended")[-1]["outcome"] == "PolicyDenied"
    assert list(site.ran()) == ["ran-good-0-1"]
    # The key's own operation still gets its result, even if it is forbidden by now.
    site.policy("actions = []")
    assert await site.step() == result


@pytest.mark.parametrize(
    ("first", "other"),
    [
        (plan_input(), step_input()),
        (apply_input(), step_input()),
        (plan_input(), apply_input()),
        (plan_input(), plan_input(release=OTHER)),
        (plan_input(), plan_input(component="db")),
        (plan_input(), plan_input(teardown=True)),
        (apply_input(), apply_input(digest=OTHER)),
        (apply_input(), apply_input(plan_key="run-1/net/plan/2")),
    ],
)
@pytest.mark.parametrize("begun", [False, True])
async def test_the_key_of_a_part_is_that_parts(
    site: Site, first: Any, other: Any, begun: bool
) -> None:
    await site.run(activity_of(first), first)
    if begun:
        Journal(site.store).begin_run(KEY, "plan", site.workplace.operations.machine)
        site.policy("actions = []\noperations = []" if isinstance(other, StepInput) else "")
    with pytest.raises(PolicyDenied) as caught:
        await site.run(activity_of(other), other)
    assert caught.value.non_retryable
    assert site.written("told")[-1]["verdict"] == "refused"
    assert site.ran() == {}


async def test_what_was_refused_has_taken_no_key(site: Site) -> None:
    site.policy('actions = ["bad"]')
    with pytest.raises(PolicyDenied, match="does not allow the action 'good'"):
        await site.step()
    assert Journal(site.store).entry(KEY) is None


async def test_what_is_no_key_is_refused_and_recorded(site: Site) -> None:
    with pytest.raises(PolicyDenied, match="cannot be the key of"):
        await site.step(key="../../policy")
    assert site.written("told")[-1]["verdict"] == "refused"


@pytest.mark.parametrize(
    "key",
    [
        "run-1/bad/step/0",
        "run-1/step/good/0",
        "run-1/good",
        "run-1/good/step",
        "run-1/good/step/0/1-step",
        "good",
    ],
)
@pytest.mark.parametrize("first", [step_input(), plan_input(), apply_input()])
async def test_a_key_names_what_is_done_under_it(site: Site, first: Any, key: str) -> None:
    """The key decides which secrets are masked in the log, and where the operation's folder is."""
    input = first.model_copy(update={"key": key})
    with pytest.raises(PolicyDenied, match="cannot be the key of"):
        await site.run(activity_of(input), input)
    assert site.written("told")[-1]["verdict"] == "refused"
    assert Journal(site.store).all_operations() == []


@pytest.mark.process
async def test_a_script_that_is_rendered_otherwise_needs_a_key_of_its_own(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(Journal, "begin_run", lambda *_: (_ for _ in ()).throw(OSError("full")))
        with pytest.raises(OSError, match="full"):
            await site.step()
    monkeypatch.setattr(site, "text", lambda what, release: "echo other")
    with pytest.raises(PolicyDenied, match="was allowed for the script sha256:"):
        await site.step()
    assert site.ran() == {}


@pytest.mark.process
async def test_a_script_lies_in_its_runs_own_folder(site: Site) -> None:
    folder = site.data / "runs" / KEY
    folder.mkdir(parents=True)
    (folder / "script").write_text("echo another")
    (folder / "work").mkdir()
    (folder / "work" / "left").touch()
    await site.step()
    script = folder / "1-step" / "script.step"
    assert script.stat().st_mode & 0o777 == 0o700
    assert list((folder / "work").iterdir()) == []
    # A file that exists already is neither run nor overwritten.
    taken = site.data / "runs" / "run-2" / "good" / "step" / "0" / "1-step" / "script.step"
    taken.parent.mkdir(parents=True)
    taken.write_text("echo another")
    with pytest.raises(Exception, match="FileExistsError"):
        await site.step(key="run-2/good/step/0")
    assert taken.read_text() == "echo another"
    await site.step(key="run-2/good/step/0")
