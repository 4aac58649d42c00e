"""`exclave deploy` and similar commands start a run, follow it, and report it to its end."""

import pytest

from contracts.errors import EngineFailed
from tests.exclave.commands.typing_person import Person
from tests.workflows.workflow_site import (
    NO_CHANGES,
    OTHER_RELEASE,
    RELEASE,
    Site,
    approve,
    asked,
    decision,
    outcomes,
)

pytestmark = pytest.mark.asyncio(loop_scope="session")


async def test_a_deploy_is_reported_part_by_part_and_its_plan_like_a_diff(
    person: Person, site: Site
) -> None:
    site.worker.decisions = [decision("net"), decision("db", "net")]
    site.worker.answers["plan db"] = [NO_CHANGES]
    async with person.begins("deploy", site.install, RELEASE) as running:
        await running.until("exclave deny")
        run = site.client.get_workflow_handle(f"deploy/{site.install}/1")
        plan = await asked(run, "net")
        # Three pages, each with the same line.
        assert running.out.count("+ net") == 3
        assert f"exclave approve deploy/{site.install}/1 {plan.digest}" in running.out
        await approve(run, "net")
        typed = await running.end()
    assert typed.status == 0, typed.err
    assert "net  applied" in typed.out
    assert "db   unchanged" in typed.out
    assert typed.out.splitlines()[-1] == f"deploy/{site.install}/1 is done."


async def test_a_failure_is_reported_with_the_engines_words(person: Person, site: Site) -> None:
    site.worker.answers["plan net"] = [EngineFailed("Error: no such region \x1b[31mred\x07")]
    typed = await person.types("deploy", site.install, RELEASE)
    assert typed.status == 1
    message = r"net failed: EngineFailed: Error: no such region \u001b[31mred\u0007"
    assert message in typed.err, "a tool's own colours are removed where its output is read"
    assert "\x1b" not in typed.out + typed.err


async def test_documents_for_programs(person: Person, site: Site) -> None:
    site.worker.answers["plan net"] = [NO_CHANGES]
    typed = await person.types("deploy", site.install, RELEASE, "--output", "json")
    assert typed.status == 0, typed.err
    first, *_, last = typed.documents
    assert first["event"] == "began"
    assert first["run"] == f"deploy/{site.install}/1"
    assert {
        "event": "part",
        "part": "net",
        "state": "unchanged",
        "words": "it was not deployed before",
    } in typed.documents
    assert (last["event"], last["how"]) == ("ended", "done")
    assert last["result"]["release"] == RELEASE


async def test_until_approval_ends_while_it_waits(person: Person, site: Site) -> None:
    typed = await person.types("deploy", site.install, RELEASE, "--until-approval")
    assert typed.status == 3
    assert "1 plan waits for an approval" in typed.err
    run = site.client.get_workflow_handle(f"deploy/{site.install}/1")
    await approve(run, "net")
    assert await outcomes(run) == {"net": "applied"}


async def test_detached_it_prints_the_run_alone(person: Person, site: Site) -> None:
    typed = await person.types("deploy", site.install, RELEASE, "--detach")
    assert (typed.status, typed.out) == (0, f"deploy/{site.install}/1\n")


async def test_ctrl_c_leaves_the_run_be(person: Person, site: Site) -> None:
    async with person.begins("deploy", site.install, RELEASE) as running:
        await running.until("exclave deny")
        running.interrupt()
        typed = await running.end()
    assert typed.status == 130
    assert f"exclave follow deploy/{site.install}/1" in typed.err
    assert "Traceback" not in typed.err
    async with person.begins("follow", site.install) as running:
        await running.until("exclave deny")
        await approve(site.client.get_workflow_handle(f"deploy/{site.install}/1"), "net")
        assert (await running.end()).status == 0


async def test_back_to_the_release_before_by_the_beginning_of_its_digest(
    person: Person, site: Site
) -> None:
    site.worker.answers["plan net"] = [NO_CHANGES]
    for release in (RELEASE, OTHER_RELEASE):
        assert (await person.types("deploy", site.install, release)).status == 0
    typed = await person.types("rollback", site.install, RELEASE[7:13], "-o", "json")
    assert typed.documents[-1]["result"]["release"] == RELEASE
    typed = await person.types("rollback", site.install, "-o", "json")
    assert typed.documents[-1]["result"]["release"] == OTHER_RELEASE
    typed = await person.types("rollback", site.install, "ffff")
    assert typed.status == 1
    assert RELEASE in typed.err


async def test_provision_and_deprovision(person: Person, site: Site) -> None:
    site.worker.decisions = [decision("_sandbox")]
    async with person.begins("provision", site.install, RELEASE) as running:
        await running.until("exclave deny")
        await approve(site.client.get_workflow_handle(f"provision/{site.install}/1"), "_sandbox")
        typed = await running.end()
    assert typed.status == 0, typed.err
    assert "sandbox  applied" in typed.out
    assert "_sandbox" not in typed.out
    site.worker.decisions = []
    assert (await person.types("deprovision", site.install)).status == 0


async def test_an_unknown_install_names_those_there_are(person: Person, site: Site) -> None:
    typed = await person.types("deploy", "nobody", RELEASE)
    assert typed.status == 1
    assert site.install in typed.err
    assert "exclave install nobody" in typed.err


async def test_a_plan_is_asked_for_at_a_terminal(person: Person, site: Site) -> None:
    site.worker.decisions = [decision("net"), decision("db")]
    async with person.sits_before("deploy", site.install, RELEASE) as screen:
        await screen.until("Approve exactly this plan?")
        screen.type("y\n")
        await screen.until("Approve exactly this plan?", times=2)
        screen.type("no\n")
        await screen.until("Why not?")
        screen.type("not today\n")
        assert await screen.end() == 1
    assert "\x1b[32m+ net" in screen.text
    assert "was denied by ann: not today" in screen.text.replace("\r", "")


async def test_what_was_typed_before_the_plan_approves_nothing(person: Person, site: Site) -> None:
    gate = site.worker.gate("plan net")
    async with person.sits_before("deploy", site.install, RELEASE) as screen:
        await screen.until("planning")
        screen.type("y\n")
        gate.set()
        await screen.until("Approve exactly this plan?")
        run = site.client.get_workflow_handle(f"deploy/{site.install}/1")
        screen.type("\n")
        await screen.until("Approve exactly this plan?", times=2)
        screen.type("later\n")
        await screen.until("goes on waiting")
        await asked(run, "net")
        await approve(run, "net")
        assert await screen.end() == 0


async def test_a_question_that_somebody_else_answers_is_taken_back(
    person: Person, site: Site
) -> None:
    async with person.sits_before("deploy", site.install, RELEASE) as screen:
        await screen.until("Approve exactly this plan?")
        await approve(site.client.get_workflow_handle(f"deploy/{site.install}/1"), "net")
        await screen.until("was decided elsewhere")
        assert await screen.end() == 0, screen.text


async def test_ctrl_c_at_the_question_decides_nothing(person: Person, site: Site) -> None:
    async with person.sits_before("deploy", site.install, RELEASE) as screen:
        await screen.until("Approve exactly this plan?")
        screen.interrupt()
        assert await screen.end() == 130
    assert f"exclave follow deploy/{site.install}/1" in screen.text
    await asked(site.client.get_workflow_handle(f"deploy/{site.install}/1"), "net")


async def test_no_colours_where_they_are_not_wanted(person: Person, site: Site) -> None:
    person.environment["NO_COLOR"] = "1"
    site.worker.answers["plan net"] = [NO_CHANGES]
    async with person.sits_before("deploy", site.install, RELEASE) as screen:
        await screen.until("unchanged")
        assert await screen.end() == 0
    assert "\x1b" not in screen.text
