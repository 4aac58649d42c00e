"""`exclave status`: one screen that shows what runs where, what waits, and what failed."""

import asyncio

import pytest

from contracts.errors import DiskFull, EngineFailed, Unreachable
from tests.exclave.commands.typing_person import Person, Typed
from tests.workflows.workflow_site import (
    NO_CHANGES,
    OTHER_RELEASE,
    RELEASE,
    Site,
    asked,
    decision,
    failure,
    outcomes,
    until,
)

pytestmark = pytest.mark.asyncio(loop_scope="session")


async def shows(person: Person, *parts: str) -> Typed:
    """The output for all installs, once the index, which lags behind, has all these parts."""

    async def look() -> Typed | None:
        typed = await person.types("status")
        assert typed.status == 0, typed.err
        return typed if all(part in typed.out for part in parts) else None

    async with asyncio.timeout(60):
        return await until(look)


async def test_all_installs_and_one_from_near(person: Person, site: Site) -> None:
    site.worker.decisions = [decision("net"), decision("db")]
    site.worker.answers["plan net"] = [NO_CHANGES]
    site.worker.answers["plan db"] = [NO_CHANGES, EngineFailed("no such region"), EngineFailed("x")]
    assert await outcomes(await site.deploy(RELEASE)) == {"net": "unchanged", "db": "unchanged"}
    failed = await site.deploy(OTHER_RELEASE)
    await failure(failed)
    typed = await shows(person, f"failed: {failed.id}: DeployFailed: db failed")
    row = next(line for line in typed.out.splitlines() if line.startswith(f"{site.install} "))
    assert row.split()[:5] == [site.install, site.app, RELEASE[7:19], "failed", "connected"]

    typed = await person.types("status", site.install)
    assert typed.status == 0, typed.err
    assert f"release   {RELEASE}" in typed.out
    assert "connected on vm-1, version 0, with terraform 1.11.4" in typed.out
    assert f"Failed: {failed.id}" in typed.out
    assert "no such region" in typed.out
    [net] = [line for line in typed.out.splitlines() if line.startswith("  net")]
    assert net.split()[:3] == ["net", "unchanged", OTHER_RELEASE[7:19]]


async def test_what_waits_and_what_to_type(person: Person, site: Site) -> None:
    run = await site.deploy()
    plan = await asked(run, "net")
    later = await site.deploy(OTHER_RELEASE)
    await shows(person, f"{run.id} waits for approval of net", f"{later.id} waiting for its turn")
    typed = await person.types("status", site.install)
    assert f"exclave approve {run.id} {plan.digest}" in typed.out
    assert f"turn      {run.id}" in typed.out
    assert f"{later.id} waits for the turn" in typed.out
    typed = await person.types("status", site.install, "--output", "json")
    assert typed.document["plans"][run.id][0]["digest"] == plan.digest
    assert typed.document["holder"]["workflow_id"] == run.id
    assert typed.document["worker_now"] == "connected"


async def test_installs_of_an_app_alone_as_documents(person: Person, site: Site) -> None:
    await shows(person, site.install)
    typed = await person.types("status", "--app", site.app, "--output", "json")
    assert [one["install"] for one in typed.document["installs"]] == [site.install]
    assert typed.document["total"] == 1
    typed = await person.types("status", "--app", "unheard-of")
    assert "There are no installs yet" in typed.out


async def test_whom_the_gateway_turns_away(person: Person, site: Site) -> None:
    """Although the worker polled a moment ago, it is not shown as connected any more."""
    site.worker.decisions = [decision("net")]
    site.worker.answers["plan net"] = [NO_CHANGES]
    await outcomes(await site.deploy(RELEASE))
    for change, state in (("pause", "paused"), ("revoke", "revoked")):
        typed = await person.types("access", change, site.install)
        assert typed.status == 0, typed.err
        typed = await shows(person, site.install, state)
        row = next(line for line in typed.out.splitlines() if line.startswith(f"{site.install} "))
        assert row.split()[4] == state
        typed = await person.types("status", site.install)
        assert f"worker    {state}" in typed.out


async def test_a_full_disk_is_named(person: Person, site: Site) -> None:
    full = DiskFull("The disk / of the worker's machine vm-1 is full (0 bytes of 2.0 GiB free)")
    site.worker.answers["plan net"] = [full]
    run = await site.deploy()
    typed = await shows(person, f"disk full: {full.message}")
    assert run.id in typed.out
    typed = await person.types("status", site.install)
    assert f"disk full: {full.message}" in typed.out
    typed = await person.types("status", site.install, "--output", "json")
    [shown] = [one for one in typed.document["runs"] if one["workflow_id"] == run.id]
    assert (shown["disk_is_full"], shown["trouble"]) == (True, full.message)
    site.worker.answers["plan net"] = [NO_CHANGES]
    assert await outcomes(run) == {"net": "unchanged"}


async def test_what_is_tried_again_says_why(person: Person, site: Site) -> None:
    site.worker.answers["plan net"] = [Unreachable("no answer from nowhere")]
    run = await site.deploy()

    async def shows_it() -> bool:
        typed = await person.types("status", site.install)
        return "retrying: no answer from nowhere" in typed.out

    async with asyncio.timeout(60):
        await until(shows_it)
    site.worker.answers["plan net"] = [NO_CHANGES]
    assert await outcomes(run) == {"net": "unchanged"}
