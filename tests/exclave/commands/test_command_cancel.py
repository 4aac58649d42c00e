"""`exclave cancel` ends a run early, and says what that means."""

import pytest
from temporalio.client import Client, WorkflowExecutionStatus

from tests.exclave.commands.typing_person import Person
from tests.workflows.workflow_site import Site, asked, digest, ended

pytestmark = pytest.mark.asyncio(loop_scope="session")


async def test_the_run_that_holds_an_installs_turn_is_cancelled(person: Person, site: Site) -> None:
    run = await site.deploy()
    await asked(run, "net")
    typed = await person.types("cancel", site.install)
    assert typed.status == 0, typed.err
    assert f"{run.id} is being cancelled. Nothing more begins." in typed.err
    assert "nothing is rolled back" in typed.err
    assert typed.out.endswith(f"{run.id} is cancelled.\n")
    assert await ended(run) == WorkflowExecutionStatus.CANCELED
    await site.holder(None)
    typed = await person.types("cancel", site.install)
    assert typed.status == 1
    assert "no run is changing" in typed.err
    typed = await person.types("cancel", run.id)
    assert typed.status == 1
    assert "has ended (canceled)" in typed.err


async def test_a_run_whose_worker_is_away_is_waited_for(person: Person, site: Site) -> None:
    site.worker.gate("apply net")
    run = await site.deploy()
    plan = await asked(run, "net")
    await run.execute_update("approve", {"digest": plan.digest})
    await site.worker.wait_for("apply net")
    gate = site.worker.gate("stop net")
    async with person.begins("cancel", run.id) as running:
        await site.worker.wait_for("stop net")
        await running.until("its tool has stopped")
        gate.set()
        typed = await running.end()
    assert typed.status == 0, typed.err


async def test_a_build_that_nobody_has_taken(person: Person, client: Client, install: str) -> None:
    id = f"build/{install}/1"
    input = {"app": install, "source": digest("source")}
    run = await client.start_workflow("Build", input, id=id, task_queue="control")
    typed = await person.types("cancel", id, "--detach", "--output", "json")
    assert typed.status == 0, typed.err
    assert typed.document == {"run": id, "cancelling": True}
    assert await ended(run) == WorkflowExecutionStatus.CANCELED


@pytest.mark.parametrize("entity", ["install", "access"])
async def test_what_is_no_run_is_not_cancelled(person: Person, site: Site, entity: str) -> None:
    typed = await person.types("cancel", f"{entity}/{site.install}")
    assert typed.status == 1
    assert "Name a run" in typed.err
    assert (await site.entity.describe()).status == WorkflowExecutionStatus.RUNNING


async def test_a_run_that_never_was(person: Person, site: Site) -> None:
    typed = await person.types("cancel", f"deploy/{site.install}/77")
    assert typed.status == 1
    assert "There is no run" in typed.err
