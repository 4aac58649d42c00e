"""Provision and Deprovision: the sandbox first, the sandbox last, and everything asked for."""

import pytest

from apps.parts import SANDBOX
from contracts.deploys import PlanInput, Progress, ScopeInput, TriggeredAction
from contracts.errors import EngineFailed
from contracts.provisions import DeprovisionFinishInput, DeprovisionScopeInput
from contracts.releases import DeclaredInput
from tests.workflows.workflow_site import (
    OTHER_RELEASE,
    RELEASE,
    FakeControl,
    Site,
    approve,
    asked,
    decision,
    failure,
    outcomes,
    refusal,
    until,
)

pytestmark = pytest.mark.asyncio(loop_scope="session")


def triggered(action: str, trigger: str, component: str | None = None) -> TriggeredAction:
    return TriggeredAction(action=action, trigger=trigger, component=component)


async def test_the_sandbox_is_planned_asked_for_and_applied(site: Site) -> None:
    await site.begin()
    site.worker.decisions = [decision(SANDBOX)]
    run = await site.run("provision", {"release": RELEASE})
    assert run.id.startswith(f"provision/{site.install}/")
    plan = await asked(run, SANDBOX)
    progress = await run.query("progress", result_type=Progress)
    assert [(one.component, one.state) for one in progress.parts] == [
        (SANDBOX, "waits for approval")
    ]
    assert plan.changes.create == 1
    await approve(run, SANDBOX)
    assert await outcomes(run) == {SANDBOX: "applied"}
    [planned] = site.worker.told(PlanInput)
    assert {"terraform_module/1", "provision/1"} <= set(planned.requires)
    await site.holder(None)
    status = await site.status()
    assert status.provisioned
    assert [(one.component, one.outcome) for one in status.parts] == [(SANDBOX, "applied")]


async def test_actions_run_before_and_after(site: Site) -> None:
    await site.begin()
    site.worker.decisions = [decision(SANDBOX)]
    site.worker.actions = [
        triggered("check", "pre-provision"),
        triggered("tell", "post-provision"),
        triggered("never", "post-deploy-all-components"),
    ]
    run = await site.run("provision", {"release": RELEASE})
    await asked(run, SANDBOX)
    assert "check by pre-provision" in site.worker.begun
    await approve(run, SANDBOX)
    await outcomes(run)
    acted = [one for one in site.worker.begun if " by " in one or one.startswith("apply")]
    assert list(dict.fromkeys(acted)) == [
        "check by pre-provision",
        f"apply {SANDBOX}",
        "tell by post-provision",
    ]


async def test_an_install_is_not_provisioned_before_the_actions_after_it_went_well(
    site: Site,
) -> None:
    await site.begin()
    site.worker.decisions = [decision(SANDBOX, verb="skip")]
    site.worker.actions = [triggered("tell", "post-provision")]
    site.worker.answers["step 0"] = [EngineFailed("nobody listens")]
    run = await site.run("provision", {"release": RELEASE})
    assert (await failure(run)).type == "ActionFailed"
    assert "provision finish" not in site.worker.begun
    del site.worker.answers["step 0"]
    run = await site.run("provision", {"release": RELEASE})
    assert await outcomes(run) == {SANDBOX: "skipped"}
    assert site.worker.begun[-1] == "provision finish"


async def test_provisioning_again_runs_the_actions_of_reprovision(site: Site) -> None:
    await site.begin()
    site.worker.decisions = [decision(SANDBOX, verb="skip")]
    site.worker.provisioned = True
    site.worker.actions = [
        triggered("first", "pre-provision"),
        triggered("again", "pre-reprovision"),
    ]
    run = await site.run("provision", {"release": RELEASE})
    assert await outcomes(run) == {SANDBOX: "skipped"}
    assert "again by pre-reprovision" in site.worker.begun
    assert "first by pre-provision" not in site.worker.begun


async def test_an_action_before_that_fails_ends_the_run_before_anything_is_planned(
    site: Site,
) -> None:
    await site.begin()
    site.worker.decisions = [decision(SANDBOX)]
    site.worker.actions = [triggered("check", "pre-provision")]
    site.worker.answers["step 0"] = [EngineFailed("no room")]
    run = await site.run("provision", {"release": RELEASE})
    error = await failure(run)
    assert error.type == "ActionFailed"
    assert "check (pre-provision) failed: EngineFailed: no room" in error.message
    assert not site.worker.told(PlanInput)
    await site.holder(None)
    status = await site.status()
    assert status.failure is not None
    assert status.failure.workflow_id == run.id
    assert not status.provisioned


async def test_an_action_after_a_deploy_that_fails_leaves_the_release_deployed(site: Site) -> None:
    await site.begin()
    site.worker.actions = [triggered("health", "post-deploy-all-components")]
    site.worker.answers["step 1"] = [EngineFailed("not healthy")]
    run = await site.deploy()
    await approve(run, "net")
    error = await failure(run)
    assert f"{site.install} runs the release now, but the action health" in error.message
    await site.holder(None)
    status = await site.status()
    assert status.release == RELEASE
    assert status.failure is not None


async def test_a_components_actions_run_around_its_apply_alone(site: Site) -> None:
    await site.begin()
    site.worker.decisions = [decision("net"), decision("api", "net")]
    site.worker.actions = [
        triggered("dump", "pre-deploy-component", "net"),
        triggered("warm", "post-deploy-component", "net"),
    ]
    run = await site.deploy()
    await approve(run, "net")
    await asked(run, "api")
    seen = [one for one in site.worker.begun if " by " in one or one.startswith("apply")]
    assert list(dict.fromkeys(seen)) == [
        "dump by pre-deploy-component",
        "apply net",
        "warm by post-deploy-component",
    ]
    await approve(run, "api")
    assert await outcomes(run) == {"net": "applied", "api": "applied"}


async def test_deprovision_takes_the_sandbox_last_and_leaves_no_schedule(
    site: Site, releases: FakeControl
) -> None:
    await site.begin()
    cron = TriggeredAction(action="health", trigger="cron", cron="*/5 * * * *")
    site.worker.actions = [cron]
    run = await site.deploy()
    await approve(run, "net")
    await outcomes(run)
    await site.holder(None)
    assert (await site.status()).schedules == [f"{site.install}/health/0"]

    site.worker.decisions = [
        decision("api", verb="teardown"),
        decision("net", "api", verb="teardown"),
        decision(SANDBOX, "api", "net", verb="teardown"),
    ]
    site.worker.actions = [
        triggered("drain", "pre-deprovision"),
        triggered("bye", "post-deprovision"),
    ]
    site.worker.begun.clear()
    run = await site.run("deprovision", {})
    await asked(run, "api")
    assert releases.schedules[site.install].actions == []
    assert releases.schedules[site.install].known == [f"{site.install}/health/0"]
    await approve(run, "api", "net", SANDBOX)
    assert await outcomes(run) == {"api": "torn down", "net": "torn down", SANDBOX: "torn down"}
    done = [one for one in site.worker.begun if one.split()[0] in {"apply", "drain", "bye"}]
    assert list(dict.fromkeys(done)) == [
        "drain by pre-deprovision",
        "apply api",
        "apply net",
        f"apply {SANDBOX}",
        "bye by post-deprovision",
    ]
    assert site.worker.told(DeprovisionScopeInput)
    assert site.worker.told(DeprovisionFinishInput)
    await site.holder(None)
    status = await site.status()
    assert (status.release, status.provisioned) == (None, False)
    assert status.parts == []
    assert status.schedules == []


async def test_a_teardown_that_is_denied_leaves_the_sandbox_alone(site: Site) -> None:
    await site.begin()
    site.worker.decisions = [
        decision("api", verb="teardown"),
        decision(SANDBOX, "api", verb="teardown"),
    ]
    run = await site.run("deprovision", {})
    plan = await asked(run, "api")
    await run.execute_update("deny", {"digest": plan.digest, "reason": "not today"})
    error = await failure(run)
    assert "api failed: Denied" in error.message
    assert f"plan {SANDBOX}" not in site.worker.begun


async def test_a_rollback_goes_to_the_release_before_with_its_inputs(
    site: Site, releases: FakeControl
) -> None:
    releases.inputs[site.app] = [DeclaredInput(name="size"), DeclaredInput(name="zone")]
    await site.begin(release=RELEASE)
    await site.knows_its_inputs()
    await site.set_inputs({"size": "1"})
    for release in (RELEASE, OTHER_RELEASE):
        run = await site.deploy(release)
        await approve(run, "net")
        await outcomes(run)
        await site.holder(None)
        await site.set_inputs({"size": "2", "zone": "b"})
    run = await site.run("rollback", {"inputs": True})
    await approve(run, "net")
    await outcomes(run)
    await site.holder(None)
    status = await site.status()
    assert status.release == RELEASE
    assert status.inputs.values == {"size": "1"}
    assert status.inputs.removed == ["zone"]
    assert [one.release for one in status.before] == [RELEASE, OTHER_RELEASE]


async def test_a_rollback_after_a_failed_deploy_goes_to_the_one_that_stands(site: Site) -> None:
    await site.begin()
    run = await site.deploy(RELEASE)
    await approve(run, "net")
    await outcomes(run)
    await site.holder(None)
    site.worker.answers["plan net"] = [EngineFailed("no")]
    run = await site.deploy(OTHER_RELEASE)
    await failure(run)
    await site.holder(None)
    status = await site.status()
    assert status.failure is not None
    assert "EngineFailed: no" in status.failure.message
    del site.worker.answers["plan net"]
    run = await site.run("rollback", {})
    await approve(run, "net")
    await outcomes(run)
    await site.holder(None)
    status = await site.status()
    assert (status.release, status.failure) == (RELEASE, None)


async def test_without_a_release_before_there_is_no_rollback(site: Site) -> None:
    await site.begin()

    async def ready() -> bool:
        return (await site.status()).worker is not None

    await until(ready)
    error = await refusal(site.entity, "rollback", {})
    assert error.type == "BadInput"
    assert "has not run a release yet" in error.message


async def test_the_stack_can_be_asked_for(site: Site) -> None:
    await site.begin()

    async def rendered() -> bool:
        try:
            found = await site.entity.query("stack")
        except Exception:
            return False
        return bool(found["files"] == {"README.md": site.install})

    await until(rendered)


async def test_what_a_release_requires_of_a_worker_is_required_of_each_run(
    site: Site, releases: FakeControl
) -> None:
    releases.requires[site.app] = ["long-actions/1"]
    await site.begin()
    site.worker.decisions = []
    for _ in range(2):  # the second time, Install has read the release as well
        run = await site.run("provision", {"release": RELEASE})
        await run.result()
        await site.holder(None)
    scopes = site.worker.told(ScopeInput)
    assert [one.requires for one in scopes] == [["provision/1", "long-actions/1"]] * 2
