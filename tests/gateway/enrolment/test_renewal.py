"""How a worker keeps its credential fresh, and what becomes of one that was refused."""

import asyncio
import logging
from pathlib import Path

import httpx
import pytest

from gateway.identity import Expired
from tests.gateway.enrolment.parts import NOW, keys_of, refusal
from tests.gateway.enrolment_site import (
    Clock,
    Gateway,
    Org,
    enrolee,
    soon,
)
from wire.enrolment.client import Answer
from wire.enrolment.credential import ByToken, Credentials, Enrolling
from wire.enrolment.worker_identity import WorkerIdentity
from wire.network.httpx_parts import Bearer

pytestmark = [pytest.mark.process, pytest.mark.asyncio(loop_scope="module")]


class Steps:
    """Sleeps that the test ends one by one, and a clock that moves on by the same time."""

    def __init__(self) -> None:
        self.now = 0.0
        self._asked: asyncio.Queue[tuple[float, asyncio.Event]] = asyncio.Queue()

    async def sleep(self, seconds: float) -> None:
        done = asyncio.Event()
        self._asked.put_nowait((seconds, done))
        await done.wait()
        self.now += seconds

    def elapsed(self) -> float:
        return self.now

    async def next(self) -> tuple[float, asyncio.Event]:
        return await soon(self._asked.get())


async def test_it_is_kept_fresh_and_comes_back_by_itself(  # noqa: PLR0917 - fixtures
    org: Org,
    door: Gateway,
    subject: str,
    worker: WorkerIdentity,
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.INFO)
    steps = Steps()
    token_file = tmp_path / "token"
    who = enrolee(org, subject, worker, door.address)
    enrolling = Enrolling(
        who, tmp_path, ByToken(token_file), door.calls(org, subject, worker, Clock(NOW))
    )
    credentials = Credentials(enrolling, elapsed=steps.elapsed, sleep=steps.sleep)
    starting = asyncio.create_task(credentials.start())
    # There is no token yet: it reports that and keeps trying.
    _, wait = await steps.next()
    assert str(token_file) in caplog.text
    token_file.write_text(org.token(subject).render() + "\n")
    wait.set()
    await soon(starting)
    first = credentials.token
    assert door.credentials.authenticate(f"Bearer {first}").shown == subject
    assert credentials.payload_keys() == keys_of(subject)
    assert (tmp_path / "enrolled.json").stat().st_mode & 0o777 == 0o600
    token_file.unlink()

    began = steps.now
    door.clock.now += 1
    while credentials.token == first:
        _, wait = await steps.next()
        if credentials.token == first:
            wait.set()
    assert 15 * 60 * 0.4 <= steps.now - began <= 15 * 60 * 0.55, "half of its life"
    second = credentials.token
    assert not token_file.exists(), "renewed without it"
    request = httpx.Request("GET", "https://gateway.example.com/v2/")
    assert (
        next(Bearer(credentials).auth_flow(request)).headers["Authorization"] == f"Bearer {second}"
    )

    await org.update("revoke", subject, by="ann")
    await door.watch.refresh()
    # The machine was suspended for an hour, which only the clock shows: it renews at once.
    steps.now += 3600
    while "was revoked" not in caplog.text:
        wait.set()
        _, wait = await steps.next()
    assert credentials.token == second
    await org.update("restore", subject)
    await door.watch.refresh()
    while "There is a credential again" not in caplog.text:
        wait.set()
        _, wait = await steps.next()
    await credentials.stop()
    door.clock.now = NOW
    for secret in (first, second):
        assert secret not in caplog.text


async def test_a_credential_that_was_refused_is_renewed_at_once(
    org: Org, door: Gateway, subject: str, worker: WorkerIdentity, tmp_path: Path
) -> None:
    """For example, the gateway's clock was corrected, and the credential is now expired."""
    token_file = tmp_path / "token"
    token_file.write_text(org.token(subject).render())
    who = enrolee(org, subject, worker, door.address)
    enrolling = Enrolling(who, tmp_path, ByToken(token_file))
    enrolling.calls = door.calls(org, subject, worker, Clock(NOW))
    credentials = Credentials(enrolling, elapsed=lambda: 0.0, sleep=Steps().sleep)
    await soon(credentials.start())
    refused = credentials.token
    door.clock.now += 3600
    with pytest.raises(Expired):
        door.credentials.authenticate(f"Bearer {refused}")
    # Two calls that were refused together cause one renewal.
    await soon(asyncio.gather(credentials.renew(), credentials.renew()))
    assert credentials.token != refused
    assert door.credentials.authenticate(f"Bearer {credentials.token}").shown == subject
    await credentials.stop()
    door.clock.now = NOW


async def test_payload_keys_are_renewed_without_a_token(
    org: Org, door: Gateway, subject: str, worker: WorkerIdentity
) -> None:
    """The control side recognizes its own signature, but refuses a key that it has forgotten."""
    calls = door.calls(org, subject, worker, Clock(NOW))
    first = await calls.enrol_by_token(org.token(subject))
    again = await calls.ask_again(first.signed)
    assert again.payload_keys == keys_of(subject)
    assert again.signed.sealed != first.signed.sealed
    mine = WorkerIdentity.generate()
    for thief in (
        door.calls(org, subject, mine, Clock(NOW)),
        door.calls(org, subject + "-b", worker, Clock(NOW)),
    ):
        assert (await refusal(thief.ask_again(first.signed))).code == "not_enrolled"
    await org.update("revoke", subject, key=worker.thumbprint)
    assert (await refusal(calls.ask_again(first.signed))).code == "key_revoked"
    forgotten = WorkerIdentity.generate()
    signed = org.signed(subject, forgotten)
    calls = door.calls(org, subject, forgotten, Clock(NOW))
    assert (await refusal(calls.ask_again(signed))).code == "not_enrolled"


async def test_a_key_that_was_forgotten_enrols_again(
    org: Org, door: Gateway, subject: str, worker: WorkerIdentity, tmp_path: Path
) -> None:
    """The worker remembers an enrolment that the control plane has lost."""
    token_file = tmp_path / "token"
    token_file.write_text(org.token(subject).render())
    who = enrolee(org, subject, worker, door.address)
    calls = door.calls(org, subject, worker, Clock(NOW))
    enrolling = Enrolling(who, tmp_path, ByToken(token_file), calls)
    enrolling._keep(Answer(org.signed(subject, worker), b"as before"))
    assert enrolling.payload_keys() == b"as before"
    credentials = Credentials(enrolling)
    await soon(credentials.start())
    assert credentials.payload_keys() == keys_of(subject)
    await credentials.stop()
