"""What an apply waits for on the customer's side: their hours, and their own approval."""

import asyncio
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from temporalio.testing import ActivityEnvironment

from activities.customer.gate import Gate
from activities.customer.guard import CustomersGuard
from activities.engines import Engine
from contracts import actions, deploys
from contracts.activities import Activity
from contracts.deploys import Applied, PlanInput, RunInput
from contracts.engines import EngineSpec, RunToTheEnd
from contracts.errors import Denied, Draining, PolicyDenied, StalePlan
from store.customer import answer_now, decide, waiting
from store.journal import Journal
from store.turns import check_turn
from tests.activities.customer.guard_site import (
    DIGEST,
    OTHER,
    RELEASE,
    Site,
    apply_input,
    operation,
    step_input,
)
from workers.engines import ENGINES


async def _until(condition: Callable[[], object]) -> None:
    """Polls, since no event signals a heartbeat."""
    async with asyncio.timeout(30):
        while not condition():
            await asyncio.sleep(0.01)


async def test_an_apply_waits_for_the_customers_hours(site: Site) -> None:
    site.policy('[[hours]]\nfrom = "22:00"\nto = "23:00"\nzone = "Europe/Berlin"')
    assert await site.run(deploys.TERRAFORM_PLAN.name, PlanInput(**operation())) == "done"
    task = asyncio.create_task(site.run(deploys.TERRAFORM_APPLY.name, apply_input()))
    await _until(lambda: "waits until Mon 2026-01-05 22:00 Europe/Berlin" in " ".join(site.beats))
    assert not task.done()
    site.now = datetime(2026, 1, 5, 21, tzinfo=UTC)
    assert await task == "done"


async def test_a_policy_that_breaks_while_an_apply_waits_keeps_it_waiting(site: Site) -> None:
    site.policy('[[hours]]\nfrom = "22:00"\nto = "23:00"')
    task = asyncio.create_task(site.run(deploys.TERRAFORM_APPLY.name, apply_input()))
    await _until(lambda: site.beats)
    site.policy("half of a")
    await _until(lambda: "policy can be used" in " ".join(site.beats))
    site.policy("")
    assert await task == "done"


@pytest.mark.parametrize("approval", ["customer", "both"])
async def test_an_apply_waits_for_the_customer_to_approve_its_plan(
    site: Site, approval: str
) -> None:
    site.policy(f'approval = "{approval}"')
    site.save_plan()
    task = asyncio.create_task(site.run(deploys.TERRAFORM_APPLY.name, apply_input()))
    await _until(lambda: f"the customer's approval of {DIGEST}" in " ".join(site.beats))
    assert site.done == []
    [question] = waiting(site.store)
    assert (question.component, question.verb, question.digest) == ("net", "apply", DIGEST)
    assert question.changes == "1 to create"
    decide(site.store, question, answer_now("approved", "ann@host"))
    assert await task == "done"
    assert waiting(site.store) == []
    [let_in] = [one for one in site.written() if one["kind"] == "let in"]
    assert let_in["why"].startswith("approved on the customer's side by ann@host")
    # Another attempt of it need not ask again.
    assert await site.run(deploys.TERRAFORM_APPLY.name, apply_input()) == "done"


async def test_a_denied_plan_fails_for_good(site: Site) -> None:
    site.policy('approval = "customer"')
    site.save_plan()
    task = asyncio.create_task(site.run(deploys.TERRAFORM_APPLY.name, apply_input()))
    await _until(lambda: waiting(site.store))
    decide(site.store, waiting(site.store)[0], answer_now("denied", "ann@host", "not today"))
    with pytest.raises(Denied, match=r"customer's side by ann@host: not today") as caught:
        await task
    assert caught.value.non_retryable
    assert site.done == []
    assert site.written()[-1]["outcome"] == "Denied"


async def test_an_approval_is_of_one_plan_alone(site: Site) -> None:
    site.policy('approval = "customer"')
    site.save_plan()
    other = apply_input().model_copy(update={"digest": OTHER})
    with pytest.raises(StalePlan, match="the saved plan's digest is"):
        await site.run(deploys.TERRAFORM_APPLY.name, other)
    with pytest.raises(StalePlan, match=f"made from release {RELEASE}, not from {OTHER}"):
        elsewhere = apply_input("run-1/net/apply/4").model_copy(update={"release": OTHER})
        await site.run(deploys.TERRAFORM_APPLY.name, elsewhere)
    gone = apply_input("run-1/net/apply/3").model_copy(update={"plan_key": "run-1/net/plan/9"})
    with pytest.raises(StalePlan, match="no longer in the store"):
        await site.run(deploys.TERRAFORM_APPLY.name, gone)
    assert site.done == []


async def test_an_apply_that_has_begun_is_not_stopped_half_way(site: Site) -> None:
    """Neither by hours or approvals that are required since, nor by being forbidden since."""
    assert await site.run(deploys.TERRAFORM_APPLY.name, apply_input()) == "done"
    journal, machine = Journal(site.store), site.workplace.operations.machine
    journal.begin("run-1/net/apply/2", machine)
    journal.begin_run("run-1/net/apply/2", "apply", machine)
    later = ('approval = "both"\n[[hours]]\nfrom = "22:00"\nto = "23:00"', "operations = []", "x")
    for text in later:
        site.policy(text)
        assert await site.run(deploys.TERRAFORM_APPLY.name, apply_input()) == "done"
    # The vendor chooses keys, and might use this one for something else.
    for other in ({"plan_key": "run-1/net/plan/9"}, {"digest": OTHER}, {"teardown": True}):
        strange = apply_input().model_copy(update=other)
        with pytest.raises(PolicyDenied):
            await site.run(deploys.TERRAFORM_APPLY.name, strange)
    journal.record_result("run-1/net/apply/2", {})
    assert await site.run(deploys.TERRAFORM_APPLY.name, apply_input()) == "done"


async def test_a_step_that_runs_is_not_lost_by_a_new_policy(site: Site) -> None:
    journal, machine = Journal(site.store), site.workplace.operations.machine
    site.policy("ad_hoc_scripts = true")
    assert await site.run(actions.STEP.name, step_input()) == "done"
    journal.begin(step_input().key, machine)
    site.policy("operations = []")
    with pytest.raises(PolicyDenied):
        await site.run(actions.STEP.name, step_input())
    journal.begin_run(step_input().key, "step", machine)
    assert await site.run(actions.STEP.name, step_input()) == "done"


async def test_nothing_waits_for_a_run_that_was_cancelled_or_lost_its_turn(site: Site) -> None:
    site.policy('approval = "customer"')
    site.save_plan()
    task = asyncio.create_task(site.run(deploys.TERRAFORM_APPLY.name, apply_input()))
    await _until(lambda: waiting(site.store))
    site.environment.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert site.written()[-1]["outcome"] == "cancelled"
    assert len(waiting(site.store)) == 1, "another attempt of it may come"
    Journal(site.store).record_failure("run-1/net/apply/2", "Cancelled", "by a person")
    assert waiting(site.store) == []
    site.environment = ActivityEnvironment()
    task = asyncio.create_task(
        site.run(deploys.TERRAFORM_APPLY.name, apply_input("run-1/net/apply/3"))
    )
    await _until(lambda: waiting(site.store))
    check_turn(site.store, 8, "deploy/acme/8")
    assert waiting(site.store) == []
    site.environment.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


async def test_a_worker_that_leaves_does_not_wait_on(site: Site) -> None:
    site.policy('approval = "customer"')
    site.save_plan()
    task = asyncio.create_task(site.run(deploys.TERRAFORM_APPLY.name, apply_input()))
    await _until(lambda: site.beats)
    site.environment.worker_shutdown()
    with pytest.raises(Draining, match="the next attempt waits for the customer's"):
        await task
    assert site.done == []


JOB = Engine(
    EngineSpec(
        name="job",
        types=("job",),
        feature="job/1",
        work=RunToTheEnd(Activity("job.run", RunInput, Applied, timedelta(days=1))),
        tool_bytes=1,
    ),
    activities=lambda workplace: (),
)


@pytest.fixture
def job_site(site: Site) -> Site:
    """Of a worker that has an engine without plans."""
    site.workplace = replace(site.workplace, engines=(*ENGINES, JOB))
    gate = Gate(site.workplace, lambda: site.now)
    site.guard = CustomersGuard(site.workplace, site.audit_log, gate)
    return site


async def test_what_has_no_plan_waits_for_the_customers_hours(job_site: Site) -> None:
    job_site.policy('hours = [{ from = "22:00", to = "04:00" }]')
    run = asyncio.create_task(job_site.run("job.run", RunInput(**operation(key="run-1/net/run/1"))))
    again = "when the customer allows applies again"
    await _until(lambda: again in " ".join(job_site.beats))
    job_site.now = datetime(2026, 1, 5, 23, tzinfo=UTC)
    assert await run == "done"


async def test_what_has_no_plan_is_refused_where_the_customer_approves(job_site: Site) -> None:
    job_site.policy('approval = "both"')
    with pytest.raises(PolicyDenied, match="net is deployed without a plan"):
        await job_site.run("job.run", RunInput(**operation(key="run-1/net/run/1")))
    assert job_site.done == []
