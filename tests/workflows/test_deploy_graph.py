"""Components along their graph: what runs beside what, after what, and what a failure stops."""

import pytest

from contracts.deploys import Applied, ApplyInput, FinishInput, PlanInput, ScopeInput
from contracts.errors import BadInput, EngineFailed
from tests.workflows.workflow_site import (
    NO_CHANGES,
    FakeControl,
    Site,
    approve,
    decision,
    digest,
    failure,
    outcomes,
)

pytestmark = pytest.mark.asyncio(loop_scope="session")


async def test_independent_components_run_beside_each_other_and_dependents_after(
    site: Site,
) -> None:
    await site.begin()
    worker = site.worker
    worker.decisions = [decision("net"), decision("db"), decision("api", "net", "db")]
    gate = worker.gate("plan net", "plan db")
    run = await site.deploy()
    await worker.wait_for("plan net", "plan db")
    gate.set()
    await approve(run, "net", "db")
    await worker.wait_for("apply net", "apply db", "plan api")
    await approve(run, "api")
    assert await outcomes(run) == dict.fromkeys(["net", "db", "api"], "applied")
    begun = worker.begun
    assert begun.index("plan api") > max(begun.index("apply net"), begun.index("apply db"))


async def test_a_dependent_does_not_wait_for_what_it_does_not_need(site: Site) -> None:
    await site.begin()
    site.worker.decisions = [decision("net"), decision("db"), decision("api", "net")]
    site.worker.answers["plan net"] = [NO_CHANGES]
    gate = site.worker.gate("plan db")
    run = await site.deploy()
    await site.worker.wait_for("plan api")
    assert "plan db" not in site.worker.ended
    gate.set()
    await approve(run, "api", "db")
    assert await outcomes(run) == {"net": "unchanged", "db": "applied", "api": "applied"}


async def test_when_one_fails_siblings_finish_and_dependents_are_not_attempted(
    site: Site,
) -> None:
    await site.begin()
    worker = site.worker
    worker.decisions = [
        decision("net"), decision("db"), decision("api", "net"), decision("ui", "api"),
        decision("job", "db"),
    ]  # fmt: skip
    worker.answers["plan net"] = [EngineFailed("net: terraform plan failed with exit status 1.")]
    run = await site.deploy()
    await approve(run, "db", "job")
    error = await failure(run)
    assert error.type == "DeployFailed"
    assert error.message.splitlines() == [
        "net failed: EngineFailed: net: terraform plan failed with exit status 1.",
        "api not attempted: net did not succeed",
        "ui not attempted: api did not succeed",
    ]
    [told] = error.details
    assert {one["component"]: one["outcome"] for one in told} == {
        "net": "failed", "db": "applied", "api": "not attempted", "ui": "not attempted",
        "job": "applied",
    }  # fmt: skip
    assert not {"plan api", "plan ui", "finish"} & set(worker.begun)


async def test_every_failure_is_named(site: Site) -> None:
    await site.begin()
    site.worker.decisions = [decision("net"), decision("db")]
    for name in ("net", "db"):
        site.worker.answers[f"plan {name}"] = [EngineFailed(f"{name} is broken")]
    error = await failure(await site.deploy())
    assert "net is broken" in error.message
    assert "db is broken" in error.message


async def test_what_is_skipped_is_planned_after_all_when_what_it_needs_applied_a_change(
    site: Site,
) -> None:
    await site.begin()
    site.worker.decisions = [
        decision("net"),
        decision("same"),
        decision("api", "net", verb="skip"),
        decision("ui", "api", verb="skip"),
        decision("job", "same", verb="skip"),
    ]
    site.worker.answers |= {"plan same": [NO_CHANGES], "plan api": [NO_CHANGES]}
    run = await site.deploy()
    await approve(run, "net")
    assert await outcomes(run) == {
        "net": "applied", "same": "unchanged", "api": "unchanged", "ui": "skipped",
        "job": "skipped",
    }  # fmt: skip
    assert not {"plan ui", "plan job"} & set(site.worker.begun)


async def test_what_is_removed_is_torn_down_in_order_from_the_release_that_made_it(
    site: Site,
) -> None:
    await site.begin()
    made_by = digest("the release that made them")
    site.worker.decisions = [
        decision("net", "db", verb="teardown", release=made_by),
        decision("db", verb="teardown", release=made_by),
    ]
    run = await site.deploy()
    await approve(run, "db", "net")
    assert await outcomes(run) == {"net": "torn down", "db": "torn down"}
    begun = [one for one in site.worker.begun if one.startswith(("plan", "apply"))]
    assert begun == ["plan db", "apply db", "plan net", "apply net"]
    operations = site.worker.told(PlanInput) + site.worker.told(ApplyInput)
    assert all(one.teardown and one.release == made_by for one in operations)


async def test_nothing_below_is_torn_down_when_what_was_on_top_stays(site: Site) -> None:
    await site.begin()
    site.worker.decisions = [
        decision("db", verb="teardown"),
        decision("net", "db", verb="teardown"),
    ]
    site.worker.answers["plan db"] = [EngineFailed("the database is protected")]
    error = await failure(await site.deploy())
    assert "net not attempted: db did not succeed" in error.message
    assert "plan net" not in site.worker.begun


async def test_a_component_type_without_an_engine_fails_alone(site: Site) -> None:
    await site.begin()
    site.worker.decisions = [decision("chart", type="helm_chart"), decision("net")]
    run = await site.deploy()
    await approve(run, "net")
    error = await failure(run)
    assert error.message.startswith("chart failed: NotUnderstood:")
    assert "helm_chart" in error.message
    assert "apply net" in site.worker.ended


async def test_no_components_is_a_deploy_too(site: Site) -> None:
    await site.begin()
    site.worker.decisions = []
    assert await outcomes(await site.deploy()) == {}
    assert "finish" in site.worker.begun


async def test_every_activity_is_told_turn_release_and_what_it_requires(site: Site) -> None:
    await site.begin()
    site.worker.decisions = [decision("net"), decision("db", "net")]
    site.worker.answers["apply net"] = [Applied(state_revision=7)]
    run = await site.deploy()
    await approve(run, "net", "db")
    await outcomes(run)
    [scope], [finish] = site.worker.told(ScopeInput), site.worker.told(FinishInput)
    assert scope.requires == finish.requires == ["deploy/1"]
    assert (scope.install, scope.app, scope.release) == (site.install, site.app, finish.release)
    plans = {one.component: one for one in site.worker.told(PlanInput)}
    assert plans["net"].requires == ["terraform_module/1"]
    assert plans["net"].turn == scope.turn == finish.turn
    assert plans["net"].state_revision == 1, "what deploy.scope said"
    assert plans["db"].state_revision == 7, "what the apply before it recorded"
    assert plans["net"].key == f"{run.first_execution_run_id or run.run_id}/net/plan/1"


async def test_an_unreadable_release_fails_the_deploy_with_its_type(
    site: Site, releases: FakeControl
) -> None:
    del releases.inputs[site.app]
    await site.begin()
    run = await site.deploy()
    error = await failure(run)
    assert (error.type, error.message) == ("NotThere", f"there is no app {site.app}")
    assert releases.read_by.count(run.id) == 1, "trying again does not mend it"
    assert "scope" not in site.worker.begun


async def test_what_the_worker_refuses_at_once_fails_the_deploy_with_its_type(site: Site) -> None:
    site.worker.answers["scope"] = [BadInput("input `zone`: is required and has no value")]
    await site.begin()
    error = await failure(await site.deploy())
    assert (error.type, error.message) == (
        "BadInput", "input `zone`: is required and has no value"
    )  # fmt: skip
