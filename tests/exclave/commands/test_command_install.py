"""`exclave install` and `exclave set-inputs`."""

from pathlib import Path

import pytest
from temporalio.client import Client

from contracts.releases import DeclaredInput
from tests.exclave.commands.typing_person import LoggingWorker, Person
from tests.workflows.workflow_site import RELEASE, FakeControl, Site

pytestmark = pytest.mark.asyncio(loop_scope="session")


async def test_an_install_begins_with_its_stack_and_its_worker(
    person: Person, client: Client, control: FakeControl, install: str, tmp_path: Path
) -> None:
    site = Site(client, install)
    control.inputs[site.app] = []
    flags = ("install", install, "--app", site.app, "--release", RELEASE)
    folder = tmp_path / "stack"
    async with person.begins(*flags, "--stack", str(folder), "--wait") as running:
        await running.until("Waiting for the install's worker")
        assert (folder / "README.md").read_text() == install
        assert (folder / "README.md").stat().st_mode & 0o777 == 0o644
        async with site.serving():
            typed = await running.end()
    assert typed.status == 0, typed.err
    assert "vm-1 is connected" in typed.err
    again = await person.types(*flags, "--stack", str(folder), "-o", "json")
    assert "--release had no effect" in again.err
    assert again.document == {
        "install": install,
        "app": site.app,
        "began": False,
        "stack": {"folder": str(folder), "files": ["README.md"]},
    }


async def test_files_of_others_are_not_overwritten(
    person: Person, site: Site, tmp_path: Path
) -> None:
    (tmp_path / "README.md").write_text("mine")
    typed = await person.types("install", site.install, "--app", site.app, "--stack", str(tmp_path))
    assert typed.status == 1
    assert "README.md exists with other content" in typed.err
    assert (tmp_path / "README.md").read_text() == "mine"


async def test_another_apps_install_is_not_taken_for_it(person: Person, site: Site) -> None:
    typed = await person.types("install", site.install, "--app", "other")
    assert typed.status == 1
    assert f"of the app '{site.app}'" in typed.err


async def test_a_release_that_is_not_the_apps_fails_at_once(person: Person, install: str) -> None:
    typed = await person.types("install", install, "--app", "unheard-of", "--release", RELEASE)
    assert typed.status == 1
    assert "there is no app unheard-of" in typed.err


async def test_inputs_are_set_and_taken_back(
    person: Person, client: Client, control: FakeControl, install: str
) -> None:
    site = Site(client, install)
    site.worker = LoggingWorker()
    control.inputs[site.app] = [
        DeclaredInput(name="region"),
        DeclaredInput(name="key", sensitive=True),
    ]
    async with site.serving():
        await site.begin(release=RELEASE)
        await site.knows_its_inputs()
        typed = await person.types("set-inputs", install, "region=a=b", "-o", "json")
        assert typed.document["values"] == {"region": "a=b"}
        typed = await person.types("set-inputs", install, "--unset", "region")
        assert typed.status == 0, typed.err
        assert (await site.status()).inputs.values == {}
        typed = await person.types("set-inputs", install, "key=secret")
        assert typed.status == 1
        assert "exclave worker set-input" in typed.err
        assert "secret" not in typed.err
