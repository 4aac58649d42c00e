"""`exclave plan`, `approve` and `deny`."""

from collections.abc import Awaitable
from typing import Any

import pytest

from contracts.deploys import PlanView, ViewInput
from contracts.messages import Nothing
from tests.exclave.commands.typing_person import Person
from tests.standalone_activities import remaining
from tests.workflows.workflow_site import Site, asked, decision, digest, failure, outcomes, until

pytestmark = pytest.mark.asyncio(loop_scope="session")


async def test_plans_are_shown_and_approved_by_the_beginning_of_their_digest(
    person: Person, site: Site
) -> None:
    run = await site.deploy()
    plan = await asked(run, "net")
    typed = await person.types("plan", site.install)
    assert typed.status == 0
    assert plan.digest in typed.out
    assert typed.out.count("+ net") == 3
    assert f"exclave approve {run.id} {plan.digest}" in typed.err
    typed = await person.types("approve", run.id, plan.digest[:20])
    assert typed.status == 0, typed.err
    assert plan.digest in typed.err
    assert await outcomes(run) == {"net": "applied"}


async def _none(found: Awaitable[list[str]]) -> bool:
    return not await found


async def test_looking_leaves_nothing_in_the_run_nor_on_the_server(
    person: Person, site: Site
) -> None:
    run = await site.deploy()
    plan = await asked(run, "net")
    before = (await run.describe()).history_length
    for _ in range(2):
        assert (await person.types("plan", site.install)).status == 0
    requests = site.worker.told(ViewInput)
    assert [one.page for one in requests] == [1, 2, 3] * 2
    assert {one.plan_key for one in requests} == {plan.plan_key}
    assert (await run.describe()).history_length == before
    await until(lambda: _none(remaining(site.client, f"TaskQueue = 'install.{site.install}'")))


@pytest.mark.parametrize(
    "other", [{"digest": digest("another")}, {"component": "db"}, {"page": 2}, {"pages": 10**9}]
)
async def test_what_is_no_page_of_the_plan_is_not_shown(
    person: Person, site: Site, other: dict[str, Any]
) -> None:
    run = await site.deploy()
    plan = await asked(run, "net")
    page = PlanView(component="net", digest=plan.digest, text="+ harmless", page=1, pages=1)
    site.worker.answers["view"] = [page.model_copy(update=other)]
    typed = await person.types("plan", run.id)
    assert typed.status == 1
    assert "harmless" not in typed.out + typed.err
    assert plan.digest in typed.err


async def test_an_answer_that_is_none_is_refused(person: Person, site: Site) -> None:
    run = await site.deploy()
    await asked(run, "net")
    site.worker.answers["view"] = [Nothing()]
    typed = await person.types("plan", run.id)
    assert typed.status == 1
    assert "is no PlanView" in typed.err
    await until(lambda: _none(remaining(site.client, f"TaskQueue = 'install.{site.install}'")))


async def test_a_component_is_denied_with_a_reason(person: Person, site: Site) -> None:
    site.worker.decisions = [decision("_sandbox")]
    run = await site.run("provision", {"release": decision("x").release})
    plan = await asked(run, "_sandbox")
    typed = await person.types(
        *("deny", run.id, "--component", "sandbox", "--reason", "no", "-o", "json")
    )
    assert typed.document["decision"] == "denied"
    assert typed.document["digest"] == plan.digest
    assert "was denied by ann: no" in (await failure(run)).message


async def test_what_does_not_wait_is_refused_with_what_does(person: Person, site: Site) -> None:
    run = await site.deploy()
    plan = await asked(run, "net")
    typed = await person.types("approve", run.id, "sha256:ffff")
    assert typed.status == 1
    assert f"net: {plan.digest}" in typed.err
    typed = await person.types("approve", run.id, "--component", "db")
    assert typed.status == 1
    assert "No plan of db" in typed.err
    assert (await person.types("approve", run.id)).status == 2


async def test_a_run_that_has_ended_or_never_was(person: Person, site: Site) -> None:
    run = await site.deploy()
    await asked(run, "net")
    await run.terminate("enough")
    typed = await person.types("approve", run.id, "sha256:ab")
    assert typed.status == 1
    assert "has ended (terminated)" in typed.err
    typed = await person.types("plan", f"deploy/{site.install}/99")
    assert (typed.status, typed.err) == (1, f"There is no run 'deploy/{site.install}/99'.\n")
    assert (await person.types("plan", "What?")).status == 1
