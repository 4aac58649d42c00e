"""The end of a deprovision: nothing is left but the journals, which are still effective."""

import asyncio
import json
from pathlib import Path

import pytest
from pydantic import BaseModel
from temporalio.testing import ActivityEnvironment

from activities.action.script import STEP
from activities.once import Say, once
from activities.operations.operation import Operation
from apps.parts import SANDBOX
from contracts.actions import ScopeAction, StepInput, StepResult
from contracts.deploys import Inputs
from contracts.errors import BadInput, LockHeld, NotThere, StoreBehind, TurnRefused
from contracts.messages import Turn
from store.interface import ANY
from store.leases import Leases
from store.machine import Machine
from tests.activities.deploy.deploy_site import DeploySite, action, component, module

SECRET = "hunter2hunter2"
THERE = Machine("there", "boot")


@pytest.fixture
def site(tmp_path: Path) -> DeploySite:
    return DeploySite(tmp_path)


def used(site: DeploySite) -> str:
    """Makes an install as it is once everything is torn down; returns its release."""
    release = site.releases.add(components=[component("net")], actions=[action("check")])
    site.state.put_app("shop")
    site.state.update_inputs(Inputs(revision=3, values={"zone": "a"}))
    site.state.set_sensitive_input("license", SECRET)
    site.state.digest_key()
    for part in ("net", SANDBOX):
        site.deployed(part, release)
        site.state.remove_component(part)
    site.store.put("plans/run/net/plan/1/record.json", b"{}", if_match=ANY)
    for folder in ("runs/run/net/plan/1", "work/acme/net", "releases/apps+shop"):
        (site.data / folder).mkdir(parents=True)
        (site.data / folder / "file").write_text(SECRET)
    (site.data / "work/acme/.net.artifact").write_text("sha256:…")
    return release


def files(site: DeploySite) -> set[str]:
    return {path.relative_to(site.data).parts[0] for path in site.data.rglob("*") if path.is_file()}


async def test_only_the_journals_are_left(site: DeploySite) -> None:
    used(site)
    await site.deprovision_scope()
    await site.deprovision_finish()
    assert site.left() == []
    assert site.store.list("") == ["journals/turn.json"]
    assert files(site) <= {"machine-id"}


async def test_an_attempt_that_comes_again_is_let_in(site: DeploySite) -> None:
    used(site)
    await site.deprovision_scope()
    await site.deprovision_finish()
    await site.deprovision_finish()
    assert site.left() == []


async def test_one_that_was_given_up_deletes_nothing_in_a_later_runs_turn(
    site: DeploySite, monkeypatch: pytest.MonkeyPatch
) -> None:
    release = used(site)
    await site.deprovision_scope()
    late, delete = site.turn, site.store.delete
    deleted: list[str] = []

    def next_run_begins(key: str) -> None:
        delete(key)
        deleted.append(key)
        site.begin("provision")
        site.store.put("journals/turn.json", json.dumps(site.turn.model_dump()).encode(),
                       if_match=ANY)  # fmt: skip

    monkeypatch.setattr(site.store, "delete", next_run_begins)
    with pytest.raises(TurnRefused):
        await site.deprovision_finish(late)
    assert len(deleted) == 1
    monkeypatch.undo()
    await site.provision_scope(release)
    with pytest.raises(TurnRefused):
        await site.deprovision_finish(late)
    assert site.state.app() == "shop"


async def test_what_is_deployed_keeps_what_it_is_torn_down_by(site: DeploySite) -> None:
    release = used(site)
    site.deployed("net", release)
    site.deployed(SANDBOX, release)
    await site.deprovision_scope()
    before = site.left()
    with pytest.raises(BadInput, match="acme still has net, sandbox, "):
        await site.deprovision_finish()
    assert site.left() == before


async def test_a_state_that_terraform_could_not_write_stays(
    site: DeploySite, caplog: pytest.LogCaptureFixture
) -> None:
    used(site)
    state = site.data / "work/acme/net/errored.tfstate"
    state.write_text("{}")
    await site.deprovision_scope()
    await site.deprovision_finish()
    assert state.read_text() == "{}"
    assert str(state.parent) in caplog.text


async def test_another_machine_that_works_on_it_is_waited_for_and_named(site: DeploySite) -> None:
    used(site)
    await site.deprovision_scope()
    now = 1_000.0
    there = Leases(site.store, THERE, clock=lambda: now)
    there.acquire("action/check", "run/check/step/0")
    # Expired by this machine's clock.
    await site.deprovision_finish()
    assert site.left() == []
    Leases(site.store, THERE).acquire("action/check", "run/check/step/0")
    with pytest.raises(LockHeld, match="action/check on machine there"):
        await site.deprovision_finish()
    assert site.left() == ["leases/action/check.json"]


async def test_a_lease_that_this_machine_left_is_in_nobodys_way(site: DeploySite) -> None:
    used(site)
    await site.deprovision_scope()
    Leases(site.store, site.machine).acquire("net", "run/net/apply/1")
    await site.deprovision_finish()
    assert site.left() == []


def step_input(release: str, revision: int = 0) -> StepInput:
    return StepInput(
        install="acme",
        app="shop",
        release=release,
        action="check",
        step=0,
        key="run/check/step/0",
        timeout_seconds=60,
        state_revision=revision,
    )


async def test_an_action_that_still_runs_is_waited_for(site: DeploySite, tmp_path: Path) -> None:
    used(site)
    (tmp_path / "go").mkdir()
    command = f"touch {tmp_path}/up; while [ -d {tmp_path}/go ]; do sleep 0.05; done"
    release = site.releases.add(actions=[action("check", command=command)])
    await site.deprovision_scope()
    running = asyncio.create_task(ActivityEnvironment().run(site.actions.step, step_input(release)))
    async with asyncio.timeout(20):
        while not (tmp_path / "up").exists():
            await asyncio.sleep(0.02)
    before = site.left()
    with pytest.raises(LockHeld, match="action/check on this machine"):
        await site.deprovision_finish()
    assert site.left() == before
    (tmp_path / "go").rmdir()
    await running
    await site.deprovision_finish()
    assert site.left() == []


async def test_what_is_written_meanwhile_does_not_stay(
    site: DeploySite, monkeypatch: pytest.MonkeyPatch
) -> None:
    used(site)
    await site.deprovision_scope()
    delete = site.store.delete

    def write_another(key: str) -> None:
        delete(key)
        site.store.put("actions/check.json", b"{}", if_match=ANY)

    monkeypatch.setattr(site.store, "delete", write_another)
    with pytest.raises(LockHeld, match=r"actions/check\.json was written"):
        await site.deprovision_finish()
    monkeypatch.undo()
    await site.deprovision_finish()
    assert site.left() == []


class Done(BaseModel):
    times: int


async def test_what_was_done_once_stays_done(site: DeploySite) -> None:
    release = used(site)
    times = 0

    async def body(operation: Operation, say: Say) -> Done:
        nonlocal times
        times += 1
        return Done(times=times)

    async def work() -> Done:
        return await once(
            site.workplace, key="run/net/apply/1", subject="net", result=Done, body=body
        )

    await site.deprovision_scope()
    assert await ActivityEnvironment().run(work) == Done(times=1)
    stepped = await ActivityEnvironment().run(site.actions.step, step_input(release))
    await site.deprovision_finish()
    assert await ActivityEnvironment().run(work) == Done(times=1)
    again = await ActivityEnvironment().run(
        site.actions.step, step_input(release, revision=site.revision)
    )
    assert again == stepped == StepResult(step="one", state_revision=stepped.state_revision)
    assert site.left() == []


async def test_a_step_that_was_to_come_is_refused_afterwards(site: DeploySite) -> None:
    release = used(site)
    await site.deprovision_scope()
    await site.deprovision_finish()
    with pytest.raises(StoreBehind):
        await ActivityEnvironment().run(
            site.actions.step, step_input(release, revision=site.revision)
        )
    with pytest.raises(NotThere):
        await ActivityEnvironment().run(
            site.actions.scope, ScopeAction(install="acme", action="check", release=release)
        )
    assert not (site.data / "runs/run/check/step/0" / f"1-{STEP}").exists()
    assert site.left() == []


async def test_a_later_provision_begins_anew(site: DeploySite) -> None:
    used(site)
    await site.deprovision_scope()
    await site.deprovision_finish()
    release = site.releases.add(sandbox=module())
    scope = await site.provision_scope(release)
    assert (scope.state_revision, scope.provisioned) == (0, False)
    assert [one.reason for one in scope.decisions] == ["it was not provisioned before"]
    with pytest.raises(TurnRefused):
        await site.deprovision_finish(Turn(number=1, workflow_id="deprovision/acme/1"))
