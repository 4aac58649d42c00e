"""`exclave access`, and the token that comes with a stack."""

import re
from pathlib import Path

import pytest
from temporalio.client import Client

from activities.access.authority import EnrolmentAuthority
from contracts.access import Enrolled, EnrolRequest, TokenProof
from contracts.names import access_workflow_id
from stacks.enrolment import BuildEnrolment
from tests.exclave.commands.typing_person import Person
from tests.workflows.workflow_plane import BUILD_ENROLMENT, ENROLMENT_KEY
from tests.workflows.workflow_site import FakeControl, Site
from wire.enrolment.token import EnrolmentToken, TokenId
from wire.enrolment.worker_identity import WorkerIdentity

pytestmark = pytest.mark.asyncio(loop_scope="session")


async def enrolled(client: Client, install: str) -> WorkerIdentity:
    subject, worker = f"install/{install}", WorkerIdentity.generate()
    named = TokenId.fresh(client.namespace, subject, 4_000_000_000)
    token = EnrolmentAuthority([ENROLMENT_KEY]).mint(named)
    proof = TokenProof(id=token.id, proof=token.prove(worker.public))
    request = EnrolRequest(subject=subject, keys=worker.public, token=proof)
    entity = client.get_workflow_handle(access_workflow_id(client.namespace))
    await entity.execute_update("enrol", request, result_type=Enrolled)
    return worker


async def test_a_worker_is_listed_revoked_and_restored(
    person: Person, client: Client, install: str
) -> None:
    typed = await person.types("access", "list", install)
    assert (typed.status, "is not enrolled" in typed.err) == (0, True)
    worker = await enrolled(client, install)
    typed = await person.types("access", "list", install)
    assert f"install/{install}  may pass" in typed.out
    assert f"key {worker.thumbprint}, by token" in typed.out

    typed = await person.types("access", "revoke", install, "--by", "ann", "--reason", "stolen")
    assert f"install/{install} is revoked" in typed.err
    assert "No worker has enrolled" not in typed.err
    typed = await person.types("access", "list", install)
    assert re.search(r"revoked since \S+ \(ann: stolen\)", typed.out)
    typed = await person.types("access", "restore", install, "-o", "json")
    assert typed.document["access"]["revoked"] == ""

    key = ("--key", worker.thumbprint)
    typed = await person.types("access", "revoke", install, *key)
    assert f"(key {worker.thumbprint}) is revoked" in typed.err
    typed = await person.types("access", "list", install)
    assert "every key is revoked" in typed.out
    typed = await person.types("access", "restore", install, "--key", "0" * 32)
    assert (typed.status, worker.thumbprint in typed.err) == (1, True), "its keys are named"


async def test_a_name_that_nobody_has_is_reported(person: Person, install: str) -> None:
    typed = await person.types("access", "revoke", install)
    assert (typed.status, f"install/{install} is revoked" in typed.err) == (0, True)
    assert f"No worker has enrolled as install/{install}" in typed.err


async def test_a_worker_is_paused_and_resumed(person: Person, client: Client, install: str) -> None:
    typed = await person.types("access", "pause", install)
    assert (typed.status, "is paused" in typed.err) == (0, True)
    typed = await person.types("access", "list", "-o", "json")
    assert typed.document[f"install/{install}"]["paused"]
    typed = await person.types("access", "resume", install)
    assert "gets its work again" in typed.err


async def test_a_machine_is_pinned(person: Person, client: Client, install: str) -> None:
    flags = ("--aws-account", "123456789012", "--aws-role", "exclave-worker")
    typed = await person.types("access", "pin", install, *flags, "-o", "json")
    assert typed.document["access"]["cloud"]["role"] == "exclave-worker"
    typed = await person.types("access", "pin", install, "--clear", "-o", "json")
    assert typed.document["access"]["cloud"] is None


@pytest.mark.parametrize(
    "wrong",
    [
        ["revoke"],
        ["revoke", "acme", "--build"],
        ["pin", "acme"],
        ["pin", "acme", "--aws-account", "1", "--aws-role", "r"],
        ["pin", "acme", "--gcp", "--azure", "--issuer", "https://a", "--subject", "b"],
        ["pin", "acme", "--gcp", "--issuer", "http://a", "--subject", "b"],
    ],
)
async def test_wrong_usage_is_reported(person: Person, wrong: list[str]) -> None:
    assert (await person.types("access", *wrong)).status == 2


async def test_each_rendering_of_a_stack_brings_a_fresh_token(
    person: Person, control: FakeControl, install: str, client: Client, tmp_path: Path
) -> None:
    site = Site(client, install)
    control.inputs[site.app] = []
    control.behind_gateway.add(install)
    folder = tmp_path / "stack"
    flags = ("install", install, "--app", site.app, "--stack", str(folder))
    typed = await person.types(*flags)
    assert typed.status == 0, typed.err
    path = folder / "enrolment-token"
    assert path.stat().st_mode & 0o777 == 0o600
    first = EnrolmentToken.parse(path.read_text())
    assert TokenId.parse(first.id).subject == f"install/{install}"
    assert ENROLMENT_KEY.token(first.id) == first, "the control side knows it"
    typed = await person.types(*flags, "-o", "json")
    second = EnrolmentToken.parse(path.read_text())
    assert second.id != first.id
    assert typed.document["token"]["file"] == str(path)
    for output in (typed.out, typed.err):
        assert second.render().partition(".")[2] not in output


async def test_a_token_for_the_build_worker(person: Person, tmp_path: Path) -> None:
    path = tmp_path / "token"
    typed = await person.types("access", "token", str(path), "--build", "--hours", "1")
    assert typed.status == 0, typed.err
    assert TokenId.parse(EnrolmentToken.parse(path.read_text()).id).subject == "build"


async def test_what_a_build_worker_is_started_with(person: Person, tmp_path: Path) -> None:
    folder = tmp_path / "builder"
    typed = await person.types("access", "build-worker", str(folder))
    assert typed.status == 0, typed.err
    assert f"exclave-build-worker {folder}/enrolment.toml" in typed.err
    assert BuildEnrolment.read(folder / "enrolment.toml") == BUILD_ENROLMENT
    token = EnrolmentToken.parse((folder / "enrolment-token").read_text())
    assert TokenId.parse(token.id).subject == "build"
    assert (folder / "enrolment-token").stat().st_mode & 0o777 == 0o600
    assert token.render().partition(".")[2] not in typed.out + typed.err
