"""A command sends nothing to a control plane that has other keys."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from client.key_proof import KeyProof
from tests.exclave.commands.typing_person import Person
from tests.workflows.encrypted_plane import MASTER, EncryptedPlane, encrypted_plane
from wire.connection import TemporalAddress
from wire.encryption.keys import MasterKeys

pytestmark = pytest.mark.asyncio(loop_scope="session")

SHOP = Path(__file__).parents[3] / "examples" / "shop"

SENDING = [
    ("install", "acme", "--app", "shop", "--stack", "stack"),
    ("provision", "acme", "sha256:" + "1" * 64, "--detach"),
    ("deploy", "acme", "sha256:" + "1" * 64, "--detach"),
    ("rollback", "acme", "--detach"),
    ("deprovision", "acme", "--detach"),
    ("action", "acme", "health", "--detach"),
    ("set-inputs", "acme", "size=2"),
    ("access", "revoke", "acme"),
    ("access", "pause", "acme"),
]


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def guarded() -> AsyncIterator[EncryptedPlane]:
    async with encrypted_plane() as plane:
        yield plane


def person_at(address: str, home: Path, keys: MasterKeys | None) -> Person:
    person = Person(address, home)
    if keys is not None:
        file = home / "keys.json"
        keys.write(file)
        person.environment["EXCLAVE_KEYS"] = str(file)
    return person


async def workflows(plane: EncryptedPlane) -> list[str]:
    return [one.id async for one in plane.client.list_workflows()]


@pytest.mark.parametrize("words", SENDING, ids=lambda words: "-".join(words[:2]))
async def test_without_keys_nothing_is_sent(
    guarded: EncryptedPlane, tmp_path: Path, words: tuple[str, ...]
) -> None:
    person = person_at(guarded.client.service_client.config.target_host, tmp_path, None)
    typed = await person.types(*words)
    assert typed.status == 1, typed
    assert "this command has no keys; nothing was sent" in typed.err
    assert "export EXCLAVE_KEYS=FILE" in typed.err
    assert await workflows(guarded) == []


@pytest.mark.parametrize("same_id", [False, True])
async def test_with_the_keys_of_another_plane_nothing_is_sent(
    guarded: EncryptedPlane, tmp_path: Path, same_id: bool
) -> None:
    other = MasterKeys.new()
    if same_id:
        other = MasterKeys(current=MASTER.current, keys={MASTER.current: other.keys[other.current]})
    person = person_at(guarded.client.service_client.config.target_host, tmp_path, other)
    typed = await person.types("deploy", "acme", "sha256:" + "1" * 64, "--detach")
    assert typed.status == 1, typed
    assert "does not have the keys in EXCLAVE_KEYS; nothing was sent" in typed.err
    assert await workflows(guarded) == []


async def test_a_build_uploads_nothing_either(guarded: EncryptedPlane, tmp_path: Path) -> None:
    person = person_at(guarded.client.service_client.config.target_host, tmp_path, None)
    # Nothing listens there, so if the command had connected, the error would be about that.
    typed = await person.types(
        "build", str(SHOP), "--app", "shop", "--registry", "http://127.0.0.1:9"
    )
    assert typed.status == 1, typed
    assert "nothing was sent" in typed.err
    assert await workflows(guarded) == []


async def test_with_its_keys_the_plane_takes_it(guarded: EncryptedPlane, tmp_path: Path) -> None:
    person = person_at(guarded.client.service_client.config.target_host, tmp_path, MASTER)
    typed = await person.types("deploy", "acme", "sha256:" + "1" * 64, "--detach")
    assert "There is no run 'install/acme'" in typed.err or "acme" in typed.err
    assert "nothing was sent" not in typed.err


async def test_keys_that_a_plain_plane_has_not_send_nothing(person: Person, tmp_path: Path) -> None:
    file = tmp_path / "keys.json"
    MasterKeys.new().write(file)
    person.environment["EXCLAVE_KEYS"] = str(file)
    typed = await person.types("deploy", "acme", "sha256:" + "1" * 64, "--detach")
    assert typed.status == 1, typed
    assert "does not have the keys in EXCLAVE_KEYS; nothing was sent" in typed.err


async def test_it_is_asked_once(guarded: EncryptedPlane, monkeypatch: pytest.MonkeyPatch) -> None:
    where = TemporalAddress(guarded.client.service_client.config.target_host, "dev")
    proof = KeyProof(where, guarded.client)
    await proof.once()
    # An answer is not possible any more; but none is needed.
    monkeypatch.setattr("client.key_proof.answer_of", None)
    await proof.once()
