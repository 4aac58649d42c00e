"""What is declared of engines, and what is derived from it."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from activities.customer.kinds import kind_of
from activities.customer.rules import Rules
from activities.installs.description import describe, features
from apps.checks.unsupported import undeployable
from apps.config.app import AppConfig
from apps.parts import SANDBOX
from apps.reading.kinds import COMPONENTS, SANDBOXES
from contracts.deploys import PlanInput
from contracts.engines import ENGINES, EngineSpec, by_type, deployable
from contracts.errors import PolicyDenied
from contracts.messages import Turn
from tests.engines.files.declaration import FILES
from tests.engines.files.engine import FILES_ENGINE
from workers import engines as shipped

ROOT = Path(__file__).resolve().parents[2]
SOURCE = {"repo": ".", "directory": "pages"}


def plan_input(component: str, *, teardown: bool) -> PlanInput:
    return PlanInput(
        install="acme", app="shop", release="sha256:" + "1" * 64, component=component,
        key="run/pages/plan/1", turn=Turn(number=1, workflow_id="deploy/acme/1"), teardown=teardown,
    )  # fmt: skip


def config(**more: Any) -> AppConfig:
    pages = {"type": "pulumi", "name": "pages", "runtime": "python", "public_repo": SOURCE}
    metadata = {"version": "v2"}
    return AppConfig.model_validate({"metadata": metadata, "components": [pages], **more})


def test_each_engine_that_is_declared_is_registered_once() -> None:
    assert [one.spec for one in shipped.ENGINES] == list(ENGINES)
    types = [one for engine in ENGINES for one in engine.types]
    names = [one.name for engine in ENGINES for one in engine.work.activities]
    for found in (types, names, [one.feature for one in ENGINES]):
        assert len(set(found)) == len(found)


@pytest.mark.parametrize("spec", [*ENGINES, FILES], ids=lambda one: one.name)
def test_its_types_have_models(spec: EngineSpec) -> None:
    assert set(spec.types) <= COMPONENTS.keys()


def test_every_sandbox_is_deployed_as_a_component_of_some_type() -> None:
    more = {"public_repo": SOURCE, "terraform_version": "1.11.4", "runtime": "python"}
    for kind, model in SANDBOXES.items():
        assert model.model_validate({"type": kind, **more}).part_type in COMPONENTS


def test_what_no_engine_deploys_is_refused() -> None:
    [missing] = undeployable(config(), deployable(ENGINES))
    assert str(missing).startswith("component pages: type: ")
    assert "deploying pulumi is not" in str(missing)
    assert undeployable(config(), deployable([*ENGINES, FILES])) == []


def test_an_engine_may_make_no_sandboxes() -> None:
    sandbox = {"type": "pulumi", "runtime": "python", "public_repo": SOURCE}
    [missing] = undeployable(config(sandbox=sandbox), deployable([*ENGINES, FILES]))
    assert "making a sandbox with Pulumi is not" in str(missing)


def test_what_a_worker_says_of_itself() -> None:
    both = (*shipped.ENGINES, FILES_ENGINE)
    assert features(both) - features(shipped.ENGINES) == {"files/1"}
    assert describe(Rules(), (FILES_ENGINE,)).tools == {"files-writer": "1.0.0"}


def test_its_work_is_the_parts_operation_to_the_customers_policy() -> None:
    asked = {
        (component, teardown): kind_of(
            "files.apply", plan_input(component, teardown=teardown), (FILES_ENGINE,)
        )
        for component in ("pages", SANDBOX)
        for teardown in (False, True)
    }
    assert asked == {
        ("pages", False): "deploy", ("pages", True): "teardown",
        (SANDBOX, False): "provision", (SANDBOX, True): "deprovision",
    }  # fmt: skip
    with pytest.raises(PolicyDenied, match=r"files\.apply is unknown to the customer's policy"):
        kind_of("files.apply", plan_input("pages", teardown=False), shipped.ENGINES)


def test_an_engine_takes_in_nothing_of_another() -> None:
    script = "import sys, tests.engines.files.activities as _; print('\\n'.join(sys.modules))"
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert not [name for name in done.stdout.split() if name.startswith("activities.terraform")]


def test_types_lead_to_their_engine() -> None:
    assert by_type([*ENGINES, FILES])["pulumi"] is FILES
