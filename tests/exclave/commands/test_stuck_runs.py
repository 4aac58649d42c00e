"""Every command shows a run as stuck if its workflow tasks keep failing."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from client.stuck import stuck_if_asked
from tests.exclave.commands.typing_person import Person
from tests.workflows.encrypted_plane import MASTER, EncryptedPlane, encrypted_plane
from tests.workflows.workflow_site import Handle, Site, until

pytestmark = pytest.mark.asyncio(loop_scope="module")

STUCK = "is stuck: its workflow task keeps failing"
REASON = "which this process was not given"
WHAT_TO_DO = "temporal workflow terminate --workflow-id deprovision/acme/1"


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def plane() -> AsyncIterator[EncryptedPlane]:
    async with encrypted_plane(replays=False) as started:
        yield started


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def run(plane: EncryptedPlane) -> Handle:
    """A run that no worker can read, of an install that still works."""
    await Site(plane.client, "acme").begin()
    deprovision = await plane.start_stuck("acme")

    async def look() -> bool:
        return bool(await stuck_if_asked(plane.client, deprovision.id))

    await until(look)
    return deprovision


@pytest.fixture
def person(plane: EncryptedPlane, tmp_path: Path) -> Person:
    one = Person(plane.client.service_client.config.target_host, tmp_path)
    keys = tmp_path / "keys.json"
    MASTER.write(keys)
    one.environment["EXCLAVE_KEYS"] = str(keys)
    return one


async def test_status_shows_it(person: Person, run: Handle) -> None:
    for arguments in ([], ["acme"]):
        typed = await person.types("status", *arguments)
        assert typed.status == 0, typed.err
        assert f"{run.id} stuck" in typed.out
        for part in (STUCK, REASON, WHAT_TO_DO):
            assert part in typed.out
    typed = await person.types("status", "acme", "--output", "json")
    [one] = typed.document["runs"]
    assert STUCK in one["stuck"]


async def test_who_follows_it_is_reported(person: Person, run: Handle) -> None:
    async with person.begins("follow", run.id) as running:
        await running.until(STUCK)
        await running.until(WHAT_TO_DO)


@pytest.mark.parametrize("command", ["plan", "cancel"])
async def test_who_asks_it_is_reported(person: Person, run: Handle, command: str) -> None:
    typed = await person.types(command, run.id)
    assert typed.status == 1
    for part in (STUCK, REASON, WHAT_TO_DO):
        assert part in typed.err


async def test_what_is_not_stuck_is_not_said_to_be(
    plane: EncryptedPlane, person: Person, run: Handle
) -> None:
    assert await stuck_if_asked(plane.client, "install/acme") == ""
    assert "install/acme is stuck" not in (await person.types("status")).out
