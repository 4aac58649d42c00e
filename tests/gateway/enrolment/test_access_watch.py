"""Who may pass, against a real Temporal server: enrolled, revoked, paused, and noticed at once."""

import asyncio
from collections.abc import AsyncIterator

import pytest
import pytest_asyncio
from temporalio.client import Client

from contracts.access import KEYS_PER_SUBJECT
from gateway.enrolment.access import AccessWatch
from gateway.identity import Standing
from tests.gateway.enrolment_site import Clock, Org, controlled, identity, soon, temporal, watching
from tests.workflow_histories import history_of, record, replay
from wire.enrolment.sealing import unseal
from wire.enrolment.token import EnrolmentToken
from wire.enrolment.worker_identity import WorkerIdentity

pytestmark = [pytest.mark.process, pytest.mark.asyncio(loop_scope="module")]


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def client() -> AsyncIterator[Client]:
    async with temporal({"limit.historyCount.suggestContinueAsNew": "200"}) as connected:
        yield connected


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def org(client: Client) -> AsyncIterator[Org]:
    # Not the machine's time: only the control side's clock decides on expiry.
    async with controlled(client, Clock(4_000_000_000.0)) as found:
        await found.begin()
        yield found


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def watch(org: Org) -> AsyncIterator[AccessWatch]:
    async with watching(org.client) as found:
        yield found


@pytest.fixture
def worker() -> WorkerIdentity:
    return WorkerIdentity.generate()


@pytest.fixture
def subject(request: pytest.FixtureRequest) -> str:
    name: str = request.node.name.removeprefix("test_")
    return "install/" + name.replace("_", "-")[:60].strip("-")


async def until(watch: AccessWatch, subject: str, worker: WorkerIdentity, wanted: Standing) -> None:
    """Waits only for signalled changes, so a watch that misses one hangs here."""
    who = identity(subject, worker)

    async def reached() -> None:
        while watch.standing(who) is not wanted:
            await watch.changed(who)

    await soon(reached())


async def test_an_enrolled_key_may_pass_and_no_other(
    org: Org, watch: AccessWatch, subject: str, worker: WorkerIdentity
) -> None:
    assert watch.standing(identity(subject, worker)) is Standing.REVOKED
    enrolled = await org.enrol(subject, worker)
    await until(watch, subject, worker, Standing.ALLOWED)
    about = f"payload keys {subject}".encode()
    assert unseal(enrolled.sealed, worker.sealing, about) == f"payload keys of {subject}".encode()
    for other in (
        identity(subject, WorkerIdentity.generate()),
        identity("install/another", worker),
        identity(subject, worker, org="another"),
    ):
        assert watch.standing(other) is Standing.REVOKED


async def test_revoking_wakes_what_waits(
    org: Org, watch: AccessWatch, subject: str, worker: WorkerIdentity
) -> None:
    await org.enrol(subject, worker)
    await until(watch, subject, worker, Standing.ALLOWED)
    who = identity(subject, worker)
    waiting = [watch.changed(who) for _ in range(1000)]
    bystander = watch.changed(identity("install/bystander", worker))
    await asyncio.sleep(0)
    await org.update("revoke", subject, by="ann", reason="left")
    await soon(asyncio.gather(*waiting))
    assert watch.standing(who) is Standing.REVOKED
    assert not bystander.done()
    bystander.cancel()
    await asyncio.wait({bystander})
    assert watch._waiters == {}, "nothing is kept of those that wait no more"
    await org.update("restore", subject)
    await until(watch, subject, worker, Standing.ALLOWED)


async def test_a_pause_and_its_end(
    org: Org, watch: AccessWatch, subject: str, worker: WorkerIdentity
) -> None:
    await org.update("pause", subject)
    await org.enrol(subject, worker)
    await until(watch, subject, worker, Standing.PAUSED)
    await org.update("resume", subject)
    await until(watch, subject, worker, Standing.ALLOWED)
    changed = await org.update("pause", subject, by="ann", reason="their audit")
    assert changed.access.told == "ann: their audit"
    await until(watch, subject, worker, Standing.PAUSED)


async def test_one_key_is_revoked_and_the_other_goes_on(
    org: Org, watch: AccessWatch, subject: str, worker: WorkerIdentity
) -> None:
    other = WorkerIdentity.generate()
    token = org.token(subject)
    await org.enrol(subject, worker, token)
    await org.enrol(subject, other)
    await until(watch, subject, other, Standing.ALLOWED)
    await org.update("revoke", subject, key=worker.thumbprint)
    await until(watch, subject, worker, Standing.REVOKED)
    assert watch.standing(identity(subject, other)) is Standing.ALLOWED
    code, words = await org.refusal(org.enrol(subject, worker, token))
    assert code == "key_revoked"
    assert "new ones" in words
    await org.update("restore", subject, key=worker.thumbprint)
    await until(watch, subject, worker, Standing.ALLOWED)


async def test_a_token_is_good_for_one_key_and_for_a_lost_answer(
    org: Org, watch: AccessWatch, subject: str, worker: WorkerIdentity
) -> None:
    token = org.token(subject)
    first = await org.enrol(subject, worker, token)
    again = await org.enrol(subject, worker, token)
    assert again.thumbprint == first.thumbprint
    code, words = await org.refusal(org.enrol(subject, WorkerIdentity.generate(), token))
    assert code == "token_used"
    assert worker.thumbprint in words
    assert "exclave access revoke" in words
    await until(watch, subject, worker, Standing.ALLOWED)
    access = watch.access_of(subject)
    assert access is not None
    assert [one.thumbprint for one in access.keys] == [worker.thumbprint]


@pytest.mark.parametrize(
    ("wrong", "code"),
    [
        ("expired", "token_expired"),
        ("other install", "token_foreign"),
        ("other org", "token_foreign"),
        ("other keys", "token_invalid"),
        ("own secret", "token_invalid"),
        ("no token", "malformed"),
    ],
)
async def test_what_proves_nothing_is_refused(
    org: Org, worker: WorkerIdentity, wrong: str, code: str
) -> None:
    subject = "install/refused"
    token = org.token(subject)
    request = org.request(subject, worker, token)
    match wrong:
        case "expired":
            request = org.request(subject, worker, org.token(subject, seconds=-1))
        case "other install":
            request = org.request(subject, worker, org.token("install/other"))
        case "other org":
            request = org.request(subject, worker, org.token(subject, org="other"))
        case "other keys":
            # What a compromised gateway would try; but the proof covers the worker's keys.
            other = WorkerIdentity.generate().public
            request = request.model_copy(update={"keys": other})
        case "own secret":
            request = org.request(subject, worker, EnrolmentToken(token.id, bytes(32)))
        case "no token":
            request = request.model_copy(update={"token": None})
    got, words = await org.refusal(
        org.entity.execute_update("enrol", request.model_dump(exclude_none=True))
    )
    assert got == code
    assert words
    assert subject not in (await org.page()).subjects


async def test_a_revoked_install_cannot_enrol_again(
    org: Org, subject: str, worker: WorkerIdentity
) -> None:
    await org.update("revoke", subject)
    code, words = await org.refusal(org.enrol(subject, worker))
    assert code == "revoked"
    assert "exclave access restore" in words


@pytest.mark.parametrize("update", ["restore", "resume"])
async def test_what_is_not_known_is_named(org: Org, update: str) -> None:
    code, words = await org.refusal(org.update(update, "install/nobody"))
    assert (code, "install/nobody" in words) == ("NotThere", True)
    code, words = await org.refusal(org.update("revoke", "install/nobody", key="0" * 32))
    assert code == "NotThere"
    code, words = await org.refusal(org.update(update, "intsall/acme"))
    assert code == "BadInput"


async def test_keys_are_bounded(org: Org, subject: str) -> None:
    workers = [WorkerIdentity.generate() for _ in range(KEYS_PER_SUBJECT + 2)]
    for one in workers[:-1]:
        await org.enrol(subject, one)
    await org.update("revoke", subject, key=workers[3].thumbprint)
    await org.enrol(subject, workers[-1])
    kept = [one.thumbprint for one in (await org.page()).subjects[subject].keys]
    assert kept == [w.thumbprint for n, w in enumerate(workers) if n not in (0, 3)]


async def continued(org: Org) -> int:
    """Make changes until it has continued as new; returns how many."""
    first = (await org.entity.describe()).run_id
    number = 0
    while (await org.entity.describe()).run_id == first:
        await org.update("pause", f"install/many-{number:04}")
        number += 1
    return number


async def test_it_survives_continue_as_new_and_pages(
    org: Org, watch: AccessWatch, subject: str, worker: WorkerIdentity
) -> None:
    token = org.token(subject)
    await org.enrol(subject, worker, token)
    number = await continued(org)
    assert (await org.page()).version > number
    code, _ = await org.refusal(org.enrol(subject, WorkerIdentity.generate(), token))
    assert code == "token_used", "used tokens are carried over"
    await org.update("revoke", subject)
    await until(watch, subject, worker, Standing.REVOKED)
    names: list[str] = []
    after: str | None = ""
    while after is not None:
        page = await org.page(after, limit=7)
        assert len(page.subjects) <= 7
        names += page.subjects
        after = page.next
    assert names == sorted(set(names))
    assert len(names) == len((await org.page()).subjects)


async def test_no_secret_of_a_token_is_in_the_history(
    org: Org, subject: str, worker: WorkerIdentity
) -> None:
    token = org.token(subject)
    await org.enrol(subject, worker, token)
    events = [event async for event in org.entity.fetch_history_events()]
    history = b"".join(event.SerializeToString() for event in events)
    assert token.id.encode() in history
    assert token.render().partition(".")[2].encode() not in history
    assert b"payload keys of" not in history


async def test_before_it_has_read_nobody_gets_anything(org: Org, worker: WorkerIdentity) -> None:
    watch = AccessWatch(org.client)
    assert watch.standing(identity("install/any", worker)) is Standing.PAUSED


async def test_what_it_did_replays(org: Org, request: pytest.FixtureRequest) -> None:
    """With --record-histories, the histories are kept for the fast replay tests."""
    await continued(org)
    described = await org.entity.describe()
    first = described.raw_description.workflow_execution_info.first_run_id
    for kind, run in {"access-first-run": first, "access-continued": described.run_id}.items():
        history = await soon(history_of(org.client.get_workflow_handle(org.entity.id, run_id=run)))
        await soon(replay(history))
        if request.config.getoption("--record-histories"):
            record(kind, history)
