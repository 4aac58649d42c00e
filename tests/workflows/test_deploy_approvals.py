"""Approvals: a person decides exactly the plan that they saw."""

import pytest

from contracts.deploys import (
    MOST_VIEWS,
    Applied,
    ApplyInput,
    ChangeCounts,
    PlanInput,
    PlanView,
    ViewInput,
    WaitingPlan,
)
from contracts.errors import StalePlan
from tests.workflow_histories import history_of, record
from tests.workflows.workflow_site import (
    NO_CHANGES,
    Site,
    approve,
    asked,
    decision,
    digest,
    failure,
    outcomes,
    plan_of,
    refusal,
    waiting,
)

pytestmark = pytest.mark.asyncio(loop_scope="session")


@pytest.mark.parametrize("update", ["approve", "deny", "view"])
async def test_another_digest_is_refused_and_what_waits_is_named(site: Site, update: str) -> None:
    await site.begin()
    run = await site.deploy()
    plan = await asked(run, "net")
    error = await refusal(run, update, {"digest": digest("something else")})
    assert error.type == "BadInput"
    assert digest("something else") in error.message
    assert f"net: {plan.digest}" in error.message
    assert (await waiting(run)).plans == [plan], "a refused decision decides nothing"
    await run.terminate("a test")


async def test_where_nothing_waits_nothing_can_be_decided(site: Site) -> None:
    await site.begin()
    site.worker.gate("plan net")
    run = await site.deploy()
    await site.worker.wait_for("plan net")
    error = await refusal(run, "approve", {"digest": digest("any")})
    assert error.type == "BadInput"
    assert "Nothing waits for an approval" in error.message
    await run.terminate("a test")


async def test_what_waits_tells_component_digest_and_counts(site: Site) -> None:
    await site.begin()
    counts = ChangeCounts(create=2, delete=1)
    site.worker.answers["plan net"] = [plan_of("two", changes=counts)]
    run = await site.deploy()
    plan = await asked(run, "net")
    [planned] = site.worker.told(PlanInput)
    assert plan == WaitingPlan(
        component="net",
        digest=digest("two"),
        teardown=False,
        changes=counts,
        plan_key=planned.key,
    )
    assert (await waiting(run)).waits_for == "approvals"
    answer = await run.execute_update("approve", {"digest": digest("two")}, result_type=WaitingPlan)
    assert answer.component == "net"
    await outcomes(run)
    assert (await waiting(run)).plans == []


async def test_what_was_approved_is_what_is_applied(site: Site) -> None:
    await site.begin()
    run = await site.deploy()
    await approve(run, "net")
    await outcomes(run)
    [planned], [applied] = site.worker.told(PlanInput), site.worker.told(ApplyInput)
    assert applied.plan_key == planned.key
    assert applied.digest == digest(planned.key)
    assert applied.key != planned.key
    assert (applied.turn, applied.release) == (planned.turn, planned.release)


async def test_deny_fails_the_component_while_its_siblings_finish(site: Site) -> None:
    await site.begin()
    site.worker.decisions = [decision("net"), decision("db"), decision("api", "net", "db")]
    run = await site.deploy()
    plan = await asked(run, "net")
    await run.execute_update("deny", {"digest": plan.digest, "by": "ann", "reason": "too wide"})
    await approve(run, "db")
    error = await failure(run)
    assert error.type == "DeployFailed"
    assert "net failed: Denied:" in error.message
    assert "denied by ann: too wide" in error.message
    assert "api not attempted: net did not succeed" in error.message
    assert "db" not in [line.split()[0] for line in error.message.splitlines()]
    assert "apply db" in site.worker.ended
    assert "plan api" not in site.worker.begun


async def test_a_stale_plan_is_planned_and_asked_for_again(site: Site) -> None:
    await site.begin()
    applied = Applied(state_revision=3)
    site.worker.answers["apply net"] = [StalePlan("the component's state has changed"), applied]
    run = await site.deploy()
    first = await asked(run, "net")
    await run.execute_update("approve", {"digest": first.digest})
    site.worker.begun.clear()
    await site.worker.wait_for("plan net")
    second = await asked(run, "net")
    assert second.digest != first.digest
    error = await refusal(run, "approve", {"digest": first.digest})
    assert second.digest in error.message
    await run.execute_update("approve", {"digest": second.digest})
    assert await outcomes(run) == {"net": "applied"}
    keys = [one.key.split("/")[1:] for one in site.worker.told(PlanInput)]
    assert keys == [["net", "plan", "1"], ["net", "plan", "3"]], "never the old plan back"
    keys = [one.key.split("/")[1:] for one in site.worker.told(ApplyInput)]
    assert keys == [["net", "apply", "2"], ["net", "apply", "4"]]


async def test_a_stale_plan_that_became_empty_is_done(site: Site) -> None:
    await site.begin()
    site.worker.answers["apply net"] = [StalePlan("somebody else did it")]
    site.worker.answers["plan net"] = [plan_of("first"), NO_CHANGES]
    run = await site.deploy()
    await approve(run, "net")
    assert await outcomes(run) == {"net": "unchanged"}


async def test_each_component_waits_for_its_own_approval(site: Site) -> None:
    await site.begin()
    site.worker.decisions = [decision("net"), decision("db")]
    run = await site.deploy()
    net, db = await asked(run, "net"), await asked(run, "db")
    assert net.digest != db.digest
    await run.execute_update("approve", {"digest": db.digest})
    await site.worker.wait_for("apply db")
    assert [one.component for one in (await waiting(run)).plans] == ["net"]
    assert "apply net" not in site.worker.begun
    await approve(run, "net")
    assert await outcomes(run) == {"net": "applied", "db": "applied"}


async def test_the_view_is_read_from_the_worker(site: Site) -> None:
    await site.begin()
    run = await site.deploy()
    plan = await asked(run, "net")
    asked_for = {"digest": plan.digest, "page": 2}
    page = await run.execute_update("view", asked_for, result_type=PlanView)
    assert (page.text, page.page, page.pages) == ("+ net", 2, 3)
    [told], [planned] = site.worker.told(ViewInput), site.worker.told(PlanInput)
    assert (told.plan_key, told.install, told.component) == (planned.key, site.install, "net")
    await approve(run, "net")
    assert await outcomes(run) == {"net": "applied"}


async def test_a_view_that_fails_fails_alone(site: Site) -> None:
    await site.begin()
    site.worker.answers["view"] = [StalePlan("it is gone")]
    run = await site.deploy()
    plan = await asked(run, "net")
    error = await refusal(run, "view", {"digest": plan.digest})
    assert (error.type, error.message) == ("StalePlan", "it is gone")
    await approve(run, "net")
    assert await outcomes(run) == {"net": "applied"}


async def test_a_run_shows_only_so_many_pages_by_itself(
    site: Site, request: pytest.FixtureRequest
) -> None:
    """Each lies in its history twice. With --record-histories the run is kept."""
    await site.begin()
    site.worker.decisions = [decision("net"), decision("db")]
    run = await site.deploy()
    net, db = await asked(run, "net"), await asked(run, "db")
    for number in range(MOST_VIEWS):
        plan = (net, db)[number % 2]
        page = await run.execute_update("view", {"digest": plan.digest}, result_type=PlanView)
        assert page.digest == plan.digest
    error = await refusal(run, "view", {"digest": net.digest})
    assert error.type == "BadInput"
    assert f"`exclave plan {run.id}`" in error.message
    # Another digest is told as such all the same, and what waits can be decided.
    assert net.digest in (await refusal(run, "view", {"digest": digest("x")})).message
    await approve(run, "net", "db")
    assert await outcomes(run) == {"net": "applied", "db": "applied"}
    if request.config.getoption("--record-histories"):
        record("deploy-viewed", await history_of(run))
