"""`exclave action` and `exclave logs`."""

import pytest
from temporalio.client import Client

from contracts.actions import StepResult
from contracts.deploys import Outputs, TriggeredAction
from contracts.errors import EngineFailed
from tests.exclave.commands.typing_person import LoggingWorker, Person
from tests.workflows.workflow_site import (
    NO_CHANGES,
    RELEASE,
    FakeControl,
    Site,
    asked,
    decision,
    outcomes,
)

pytestmark = pytest.mark.asyncio(loop_scope="session")


def log_worker(site: Site) -> LoggingWorker:
    assert isinstance(site.worker, LoggingWorker)
    return site.worker


async def test_the_outputs_of_its_steps_are_printed(person: Person, site: Site) -> None:
    outputs = Outputs(values={"url": "http://a", "up": True}, sensitive=["key"])
    site.worker.answers["step 0"] = [StepResult(step="look", outputs=outputs)]
    typed = await person.types("action", site.install, "health")
    assert typed.status == 0, typed.err
    assert typed.out.splitlines() == [
        "look",
        "  up = true",
        '  url = "http://a"',
        "  key is sensitive, and stays with the customer",
        "step 1",
    ]
    assert "health: look done" in " ".join(typed.err.split())
    typed = await person.types("action", site.install, "health", "-o", "json")
    assert typed.documents[-1]["result"]["steps"][0]["outputs"]["values"]["up"] is True


async def test_an_action_that_fails(person: Person, site: Site) -> None:
    site.worker.answers["step 1"] = [EngineFailed("exit status 7")]
    typed = await person.types("action", site.install, "health")
    assert typed.status == 1
    assert typed.err.splitlines()[-1].endswith("failed: exit status 7")


async def test_logs_are_read_in_pieces_and_printed_by_component(person: Person, site: Site) -> None:
    site.worker.decisions = [decision("net"), decision("db")]
    log_worker(site).logs = {"net/plan": ["one\ntw", "o\n\x1b[31mthree"], "db/plan": ["four\n"]}
    run = await site.deploy()
    await asked(run, "net")
    await asked(run, "db")
    typed = await person.types("logs", site.install)
    assert typed.status == 0, typed.err
    assert sorted(typed.out.splitlines()) == [
        "plan db | four",
        "plan net | one",
        "plan net | three",
        "plan net | two",
    ]
    typed = await person.types("logs", run.id, "--component", "net", "-o", "json")
    assert "".join(one["text"] for one in typed.documents) == "one\ntwo\n\x1b[31mthree"
    assert {one["of"] for one in typed.documents} == {"net"}


async def test_logs_are_followed_to_the_end_of_the_run(person: Person, site: Site) -> None:
    site.worker.answers["plan net"] = [NO_CHANGES]
    log_worker(site).logs = {"net/plan": ["one\n", "two\n"]}
    gate = site.worker.gate("plan net")
    run = await site.deploy()
    async with person.begins("logs", run.id, "--follow") as running:
        await running.until("two")
        gate.set()
        typed = await running.end()
    assert typed.status == 0, typed.err
    assert typed.out.splitlines() == ["plan net | one", "plan net | two"]


@pytest.mark.parametrize("follow", [[], ["--follow"]], ids=["now", "follow"])
async def test_logs_of_the_actions_that_a_run_starts_are_its_own(
    person: Person, site: Site, follow: list[str]
) -> None:
    site.worker.answers["plan net"] = [NO_CHANGES]
    site.worker.actions = [
        TriggeredAction(action="check", trigger="post-deploy-all-components"),
    ]
    log_worker(site).logs = {"check/step/0": ["fine\n"], "net/plan": ["planned\n"]}
    run = await site.deploy()
    await outcomes(run)
    typed = await person.types("logs", run.id, *follow)
    assert typed.status == 0, typed.err
    assert typed.out.splitlines() == ["plan net | planned", "check: look | fine"]
    typed = await person.types("logs", run.id, "--component", "check", *follow)
    assert typed.out.splitlines() == ["check: look | fine"]


async def test_a_worker_that_is_too_old_for_logs_says_so(
    person: Person, client: Client, control: FakeControl, install: str
) -> None:
    site = Site(client, install)
    control.inputs[site.app] = []
    async with site.serving():
        await site.begin()
        await asked(await site.deploy(RELEASE), "net")
        typed = await person.types("logs", install)
    assert typed.status == 1
    assert "is older than this command" in typed.err


async def test_logs_and_plans_of_a_worker_that_is_away(
    person: Person, client: Client, control: FakeControl, install: str
) -> None:
    site = Site(client, install)
    control.inputs[site.app] = []
    async with site.serving():
        await site.begin()
        run = await site.deploy(RELEASE)
        await asked(run, "net")
    for command in ("logs", "plan"):
        typed = await person.types(command, install)
        assert typed.status == 4, typed.err
        assert "is away" in typed.err
