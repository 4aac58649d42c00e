"""A control plane that gets one thing approved and asks for another, with the real activities, a
real Terraform, and the customer's guard in front of them."""

import asyncio
import json
import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from temporalio.testing import ActivityEnvironment

from activities.customer import gate as gate_module
from activities.customer.guard import CustomersGuard
from activities.customer.rules import Rules
from activities.terraform import applying
from apps.parts import SANDBOX
from contracts import deploys
from contracts.deploys import ApplyInput, Inputs, Plan, PlanInput
from contracts.errors import ExclaveError, StalePlan, Unreachable
from store.customer import Question, answer_now, decide, waiting
from store.interface import ANY
from tests.activities.deploy.deploy_site import DeploySite, component, input_of, module

pytestmark = pytest.mark.e2e

BOUND = ("app", "release", "artifact", "variables", "environment")

WRITES = """
variable "size" {{ default = "1" }}
resource "terraform_data" "one" {{
  input = "1"
  provisioner "local-exec" {{ command = "{before} printf {letter}$WHO > {mark}" }}
}}
"""


class HostilePlane:
    """Chooses freely what each call to the install's worker contains."""

    def __init__(self, root: Path) -> None:
        self.site = DeploySite(root)
        self.mark = root / "mark"
        self.policy = root / "policy.toml"
        place = replace(self.site.workplace, rules=Rules(self.policy))
        self.guard = CustomersGuard(place)
        self.terraform = self.site.terraform
        self.count = 0
        self.a, self.d = (self.release(letter) for letter in "AD")

    def release(self, letter: str, before: str = "", **fields: Any) -> str:
        """A release whose modules plan the same for every letter, but do different things."""
        files = {"main.tf": WRITES.format(letter=letter, before=before, mark=self.mark)}
        own = {
            "vars": {"size": "{{ .nuon.inputs.inputs.size }}"},
            "env_vars": {"WHO": "1"},
        } | fields
        inputs = [input_of("size", default="1")]
        return self.site.releases.add(
            {"net": files, SANDBOX: files},
            components=[component("net", **own)],
            sandbox=module(**own),
            inputs=inputs,
        )

    def input(self, release: str, part: str, verb: str) -> dict[str, Any]:
        self.count += 1
        return {
            "install": "acme", "app": "shop", "release": release, "component": part,
            "turn": self.site.turn, "key": f"run/{part}/{verb}/{self.count}",
        }  # fmt: skip

    async def plan(self, release: str, part: str = "net", *, teardown: bool = False) -> PlanInput:
        input = PlanInput(**self.input(release, part, "plan"), teardown=teardown)
        self.planned: Plan = await self.call(deploys.TERRAFORM_PLAN.name, input)
        return input

    async def apply(self, plan: PlanInput, **other: Any) -> None:
        """Apply what was planned; `other` overrides fields of the input."""
        await self.call(deploys.TERRAFORM_APPLY.name, self.apply_input(plan, **other))

    def apply_input(self, plan: PlanInput, **other: Any) -> ApplyInput:
        common = self.input(plan.release, plan.component, "apply")
        teardown = plan.teardown
        said = {"plan_key": plan.key, "digest": self.planned.digest, "teardown": teardown}
        return ApplyInput(**common | said | other)

    async def call(self, activity: str, input: Any) -> Any:
        """An activity of the worker, through the customer's guard."""
        does = self.terraform.plan if isinstance(input, PlanInput) else self.terraform.apply
        environment = ActivityEnvironment()
        environment.info = replace(environment.info, activity_type=activity)

        async def body() -> Any:
            return await does(input)

        return await environment.run(self.guard.run, [input], lambda: None, body)

    def did(self) -> str | None:
        return self.mark.read_text() if self.mark.exists() else None

    async def asks(self) -> Question:
        """The question that the customer currently sees."""
        async with asyncio.timeout(60):
            while not (found := waiting(self.site.store)):
                # Nothing signals that an object of the store has changed.
                await asyncio.sleep(0.01)
        return found[0]


@pytest.fixture
def plane(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[HostilePlane]:
    monkeypatch.setattr(gate_module, "LOOK_AGAIN_SECONDS", 0.01)
    made = HostilePlane(tmp_path)
    made.site.begin("deploy")
    yield made


@pytest.mark.parametrize("part", ["net", SANDBOX])
async def test_the_release_that_was_planned_is_applied_and_no_other(
    plane: HostilePlane, part: str
) -> None:
    plan = await plane.plan(plane.a, part)
    with pytest.raises(StalePlan, match=f"made from release {plane.a}, not from {plane.d}"):
        await plane.apply(plan, release=plane.d)
    with pytest.raises(StalePlan, match="made for the app shop, not for toys"):
        await plane.apply(plan, app="toys")
    assert plane.did() is None
    await plane.apply(plan)
    assert plane.did() == "A1"


async def test_a_teardown_is_of_the_release_that_it_was_planned_from(plane: HostilePlane) -> None:
    await plane.apply(await plane.plan(plane.a))
    plan = await plane.plan(plane.a, teardown=True)
    with pytest.raises(StalePlan, match=f"not from {plane.d}"):
        await plane.apply(plan, release=plane.d)
    assert plane.site.state.component("net") is not None
    await plane.apply(plan)
    assert plane.site.state.component("net") is None


async def test_values_that_changed_since_are_planned_again(plane: HostilePlane) -> None:
    plan = await plane.plan(plane.a)
    plane.site.state.update_inputs(Inputs(revision=1, values={"size": "2"}))
    with pytest.raises(StalePlan, match="values of its variables have changed"):
        await plane.apply(plan, inputs_revision=1)
    assert plane.did() is None
    await plane.apply(await plane.plan(plane.a))
    assert plane.did() == "A1"


async def test_an_environment_that_changed_since_is_planned_again(plane: HostilePlane) -> None:
    release = plane.release("A", env_vars={"WHO": "{{ .nuon.inputs.inputs.size }}"}, vars={})
    plan = await plane.plan(release)
    plane.site.state.update_inputs(Inputs(revision=1, values={"size": "2"}))
    with pytest.raises(StalePlan, match="environment that the app config sets has changed"):
        await plane.apply(plan)
    assert plane.did() is None
    await plane.apply(await plane.plan(release))
    assert plane.did() == "A2"


async def test_the_workers_own_environment_is_another_machines_to_differ_in(
    plane: HostilePlane, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan = await plane.plan(plane.a)
    monkeypatch.setenv("HTTPS_PROXY", "http://127.0.0.1:9")
    monkeypatch.setenv("TZ", "Asia/Tokyo")
    await plane.apply(plan)
    assert plane.did() == "A1"


async def test_no_answer_of_the_customer_counts_for_another_release(plane: HostilePlane) -> None:
    plane.policy.write_text('approval = "customer"')
    plan = await plane.plan(plane.a)
    lost = asyncio.create_task(plane.apply(plan))
    question = await plane.asks()
    assert question.release == plane.a
    lost.cancel()
    await asyncio.gather(lost, return_exceptions=True)
    decide(plane.site.store, question, answer_now("approved", "ann@host"))
    with pytest.raises(StalePlan, match=f"not from {plane.d}"):
        await plane.apply(plan, release=plane.d)
    assert plane.did() is None
    await plane.apply(plan)
    assert plane.did() == "A1"


async def test_a_plan_of_an_older_worker_is_made_again(plane: HostilePlane) -> None:
    plan = await plane.plan(plane.a)
    _forget(plane, plan, *BOUND)
    with pytest.raises(StalePlan, match="an older worker"):
        await plane.apply(plan)
    plane.policy.write_text('approval = "customer"')
    with pytest.raises(StalePlan, match="an older worker"):
        await plane.apply(plan)
    assert waiting(plane.site.store) == [], "nobody is asked for what could not be applied"
    assert plane.did() is None


@pytest.mark.parametrize("forgets", [False, True])
async def test_what_a_crash_left_is_compared_by_what_remains(
    plane: HostilePlane, monkeypatch: pytest.MonkeyPatch, forgets: bool
) -> None:
    """Even if values have changed since, a half-done apply is finished within its approval, also if
    an older worker planned it. But another release may not continue it."""
    release = plane.release("A", "test -e died || { touch died; kill -9 $PPID; exit 1; };")
    plan = await plane.plan(release)
    apply = plane.apply_input(plan)
    with monkeypatch.context() as patch:
        patch.setattr(applying, "put_back", _dies)
        with pytest.raises(Unreachable):
            await plane.call(deploys.TERRAFORM_APPLY.name, apply)
    assert plane.did() is None
    plane.site.state.update_inputs(Inputs(revision=1, values={"size": "2"}))
    with pytest.raises(ExclaveError):
        other = apply.model_copy(update={"release": plane.d})
        await plane.call(deploys.TERRAFORM_APPLY.name, other)
    assert plane.did() is None
    if forgets:
        _forget(plane, plan, *BOUND)
    await plane.call(deploys.TERRAFORM_APPLY.name, apply)
    assert plane.did() == "A1"


async def test_an_apply_that_died_before_it_applied_begins_anew(
    plane: HostilePlane, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It had not changed anything, so there is nothing to finish."""
    plan = await plane.plan(plane.a)
    shutil.rmtree(plane.site.data / "work")
    apply = plane.apply_input(plan)
    with monkeypatch.context() as patch:
        patch.setattr(applying, "_require_providers", _dies_at_once)
        with pytest.raises(Unreachable):
            await plane.call(deploys.TERRAFORM_APPLY.name, apply)
    plane.site.state.update_inputs(Inputs(revision=1, values={"size": "2"}))
    with pytest.raises(StalePlan, match="values of its variables have changed"):
        await plane.call(deploys.TERRAFORM_APPLY.name, apply)
    assert plane.did() is None


async def _dies(*_: object) -> None:
    raise Unreachable("the worker died")


def _dies_at_once(*_: object) -> None:
    raise Unreachable("the worker died")


def _forget(plane: HostilePlane, plan: PlanInput, *names: str) -> None:
    """Leave of a plan's record what an older worker wrote."""
    key = f"plans/{plan.key}/record.json"
    found = plane.site.store.get(key)
    assert found is not None
    record = json.loads(found.data)
    for name in names:
        assert record.pop(name)
    plane.site.store.put(key, json.dumps(record).encode(), if_match=ANY)
