"""Enrolment and credentials over a real HTTP server: what passes, and how the rest is refused."""

import asyncio
import logging
import time
import uuid
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx
import jwt
import pytest
import pytest_asyncio
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from temporalio.client import Client

from activities.access.authority import EnrolmentAuthority, EnrolmentKey
from gateway.enrolment.address_limits import AddressLimits
from gateway.enrolment.credentials import CredentialKey
from gateway.identity import Expired, Standing, Unauthenticated
from tests.gateway.enrolment_site import (
    ORG,
    Clock,
    Gateway,
    Org,
    Shared,
    controlled,
    enrolee,
    gateway,
    serving,
    soon,
    temporal,
)
from tests.tls_certificates import make_certificate
from wire.enrolment.client import Answer, AnswerForged, GatewayAway, GatewayCalls, GatewayRefused
from wire.enrolment.credential import ByToken, Credentials, Enrolling
from wire.enrolment.messages import (
    ASSERTION_AUDIENCE,
    CREDENTIAL_PATH,
    ENROL_PATH,
    EnrolAnswer,
    EnrolBody,
)
from wire.enrolment.sealing import CannotUnseal, decoded, encoded, seal, unseal
from wire.enrolment.token import EnrolmentToken, TokenId, answer_bytes, sealed_about
from wire.enrolment.worker_identity import WorkerIdentity
from wire.network.gateway_address import GatewayAddress
from wire.network.httpx_parts import Bearer

pytestmark = [pytest.mark.process, pytest.mark.asyncio(loop_scope="module")]

NOW = 4_000_000_000.0


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def client() -> AsyncIterator[Client]:
    async with temporal() as connected:
        yield connected


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def org(client: Client) -> AsyncIterator[Org]:
    async with controlled(client, Clock(NOW)) as found:
        await found.begin()
        yield found


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def shared(tmp_path_factory: pytest.TempPathFactory) -> Shared:
    folder = tmp_path_factory.mktemp("gateway")
    return Shared(CredentialKey.make(folder / "credentials.pem"), Clock(NOW))


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def door(
    org: Org, shared: Shared, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[Gateway]:
    certificate = make_certificate(tmp_path_factory.mktemp("tls"))
    async with gateway(org.client, shared, certificate) as found:
        yield found


@pytest.fixture
def worker() -> WorkerIdentity:
    return WorkerIdentity.generate()


@pytest.fixture
def subject(request: pytest.FixtureRequest) -> str:
    name: str = request.node.name.removeprefix("test_").partition("[")[0]
    return "install/" + name.replace("_", "-")[:60].strip("-")


def keys_of(subject: str) -> bytes:
    return f"payload keys of {subject}".encode()


async def refusal(waiting: Any) -> GatewayRefused:
    with pytest.raises(GatewayRefused) as caught:
        await soon(waiting)
    return caught.value


async def test_enrolled_and_given_a_credential(
    org: Org, door: Gateway, subject: str, worker: WorkerIdentity, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    token = org.token(subject)
    calls = door.calls(org, subject, worker, Clock(NOW))
    assert (await calls.enrol_by_token(token)).payload_keys == keys_of(subject)
    answer = await calls.credential()
    who = door.credentials.authenticate(f"Bearer {answer.token}")
    assert (who.shown, who.org, who.key) == (subject, ORG, worker.thumbprint)
    assert who.expires == NOW + answer.seconds
    assert door.watch.standing(who) is Standing.ALLOWED
    # The answer may have been lost.
    assert (await calls.enrol_by_token(token)).payload_keys == keys_of(subject)
    for secret in (answer.token, token.render(), token.render().partition(".")[2]):
        assert secret not in caplog.text


async def test_the_certificate_is_checked(
    org: Org, door: Gateway, subject: str, worker: WorkerIdentity
) -> None:
    of_nobody = GatewayAddress(door.address.url, None)
    calls = GatewayCalls(enrolee(org, subject, worker, of_nobody), Clock(NOW))
    with pytest.raises(GatewayAway, match="certificate"):
        await calls.enrol_by_token(org.token(subject))


async def test_an_enrolment_that_was_overheard_is_worth_nothing(
    org: Org, door: Gateway, subject: str, worker: WorkerIdentity
) -> None:
    """The whole request is repeated: with the eavesdropper's own keys, and unchanged."""
    request = org.request(subject, worker)
    mine = WorkerIdentity.generate()
    async with httpx.AsyncClient(verify=door.address.context()) as http:
        sent = EnrolBody(**request.model_dump(), org=ORG, time=NOW)
        answer = await http.post(door.address.url + ENROL_PATH, content=sent.model_dump_json())
        assert answer.status_code == 200
        with_mine = sent.model_copy(update={"keys": mine.public})
        answer = await http.post(door.address.url + ENROL_PATH, content=with_mine.model_dump_json())
        assert (answer.status_code, answer.json()["code"]) == (403, "token_invalid")
        # Unchanged, it enrols the same key, and the answer is sealed to that key alone.
        answer = await http.post(door.address.url + ENROL_PATH, content=sent.model_dump_json())
        assert answer.status_code == 200
    access = door.watch.access_of(subject)
    assert access is not None
    assert [one.thumbprint for one in access.keys] == [worker.thumbprint]


async def test_a_forged_answer_is_not_believed(
    org: Org, subject: str, worker: WorkerIdentity
) -> None:
    """Otherwise, an impostor of the gateway could supply payload keys of its own."""
    theirs = EnrolmentKey(bytes(32))

    async def answer(request: Request) -> Response:
        keys = EnrolBody.model_validate_json(await request.body()).keys
        about = sealed_about("payload keys", subject)
        sealed = seal(b"keys of theirs", decoded(keys.sealing), about)
        forged = EnrolAnswer(
            subject=subject,
            thumbprint=worker.thumbprint,
            sealed=sealed,
            signature=encoded(theirs.signing.sign(answer_bytes(subject, keys, sealed))),
            time=NOW,
        )
        return Response(forged.model_dump_json(), media_type="application/json")

    async with serving(Starlette(routes=[Route(ENROL_PATH, answer, methods=["POST"])]), None) as at:
        calls = GatewayCalls(enrolee(org, subject, worker, at), Clock(NOW))
        with pytest.raises(AnswerForged, match="another control plane"):
            await calls.enrol_by_token(org.token(subject))


@pytest.mark.parametrize("off", [-290.0, 0.0, 290.0])
async def test_a_clock_within_the_grace_is_fine(
    org: Org, door: Gateway, subject: str, worker: WorkerIdentity, off: float
) -> None:
    subject += f"-{int(off) + 1000}"
    await org.enrol(subject, worker)
    calls = door.calls(org, subject, worker, Clock(NOW + off))
    assert (await calls.credential()).token
    assert calls.about_clock() == ""


@pytest.mark.parametrize("off", [-1020.0, 1020.0, -30 * 86_400.0])
async def test_a_clock_that_is_wrong_is_named_and_corrected(
    org: Org, door: Gateway, subject: str, worker: WorkerIdentity, off: float
) -> None:
    """The clock is 17 minutes slow at boot; the first attempt learns by how much."""
    subject += f"-{abs(int(off))}-{off > 0:d}"
    await org.enrol(subject, worker)
    async with httpx.AsyncClient(verify=door.address.context()) as http:
        answer = await _ask(http, door, _assertion(subject, worker, made=NOW + off))
    assert (answer.status_code, answer.json()["code"]) == (401, "clock_skew")
    assert "behind" in answer.json()["message"] or "ahead of" in answer.json()["message"]
    assert answer.json()["time"] == NOW
    calls = door.calls(org, subject, worker, Clock(NOW + off))
    assert (await calls.credential()).token
    assert "set it (timedatectl" in calls.about_clock()
    if off == -1020.0:
        assert "17 min behind" in calls.about_clock()


def _assertion(
    subject: str,
    worker: WorkerIdentity,
    *,
    made: float = NOW,
    kid: str | None = None,
    algorithm: str = "EdDSA",
    **more: Any,
) -> str:
    claims = {
        "aud": ASSERTION_AUDIENCE,
        "org": ORG,
        "sub": subject,
        "iat": int(made),
        "exp": int(made) + 60,
        "jti": uuid.uuid4().hex,
        "seal_to": worker.public.sealing,
    }
    key: Any = worker.signing if algorithm == "EdDSA" else None
    if algorithm == "HS256":
        key = worker.public.signing
    headers = {"kid": kid or worker.thumbprint}
    return jwt.encode({**claims, **more}, key, algorithm, headers=headers)


async def _ask(http: httpx.AsyncClient, door: Gateway, assertion: str) -> httpx.Response:
    body = {"assertion": assertion, "time": NOW}
    return await http.post(door.address.url + CREDENTIAL_PATH, json=body)


async def test_an_assertion_is_good_once_and_only_whole(
    org: Org, door: Gateway, subject: str, worker: WorkerIdentity
) -> None:
    await org.enrol(subject, worker)
    other = WorkerIdentity.generate()
    await org.enrol(subject + "-b", other)
    good = _assertion(subject, worker)
    async with httpx.AsyncClient(verify=door.address.context()) as http:
        assert (await _ask(http, door, good)).status_code == 200
        for assertion, code in (
            (good, "replayed"),
            (_assertion(subject, other, kid=worker.thumbprint), "assertion_invalid"),
            (_assertion(subject + "-b", worker, kid=other.thumbprint), "assertion_invalid"),
            (_assertion(subject + "-b", worker), "not_enrolled"),
            (_assertion(subject, worker, algorithm="none"), "assertion_invalid"),
            (_assertion(subject, worker, algorithm="HS256"), "assertion_invalid"),
            (_assertion(subject, worker, aud="another"), "assertion_invalid"),
            (_assertion(subject, worker, org="another"), "other_org"),
            (_assertion(subject, worker, exp=int(NOW) + 3600), "assertion_invalid"),
            (_assertion(subject, worker, iat="now"), "assertion_invalid"),
            (_assertion(subject, worker, iat=float("nan")), "assertion_invalid"),
            (_assertion(subject, worker, exp=float("inf")), "assertion_invalid"),
            (_assertion(subject, worker, seal_to="mine"), "assertion_invalid"),
            (_assertion(subject, worker, seal_to=None), "assertion_invalid"),
            (_assertion(subject, worker, seal_to=encoded(bytes(32))), "assertion_invalid"),
            (good[:-4] + "AAAA", "assertion_invalid"),
            ("a.b.c", "assertion_invalid"),
            ("", "assertion_invalid"),
        ):
            answer = await _ask(http, door, assertion)
            assert answer.json()["code"] == code, assertion
            assert answer.status_code in (401, 403)
            assert "sealed" not in answer.json()


async def test_an_assertion_that_is_shown_again_elsewhere_is_worth_nothing(
    org: Org, door: Gateway, shared: Shared, subject: str, worker: WorkerIdentity
) -> None:
    """Gateways do not share which assertions were used, and a gateway may lie about the time to
    obtain assertions for later."""
    await org.enrol(subject, worker)
    assertion, about = _assertion(subject, worker), sealed_about("credential", subject)
    async with gateway(org.client, shared) as second:
        await second.watch.refresh()
        for one in (door, second):
            async with httpx.AsyncClient(verify=one.address.context()) as http:
                sealed = (await _ask(http, one, assertion)).json()["sealed"]
            token = unseal(sealed, worker.sealing, about).decode()
            assert one.credentials.authenticate(f"Bearer {token}").shown == subject
            with pytest.raises(CannotUnseal):
                unseal(sealed, WorkerIdentity.generate().sealing, about)
            with pytest.raises(Unauthenticated):
                one.credentials.authenticate(f"Bearer {sealed}")


async def test_revoked_and_restored(
    org: Org, door: Gateway, subject: str, worker: WorkerIdentity
) -> None:
    await org.enrol(subject, worker)
    calls = door.calls(org, subject, worker, Clock(NOW))
    who = door.credentials.authenticate(f"Bearer {(await calls.credential()).token}")
    await org.update("revoke", subject)

    async def revoked() -> None:
        while door.watch.standing(who) is not Standing.REVOKED:
            await door.watch.changed(who)

    await soon(revoked())
    refused = await refusal(calls.credential())
    assert refused.code == "revoked"
    assert "exclave access restore" in str(refused)
    await org.update("restore", subject)
    await door.watch.refresh()
    assert (await calls.credential()).token


async def test_two_gateways_share_only_keys_and_temporal(
    org: Org, door: Gateway, shared: Shared, subject: str, worker: WorkerIdentity
) -> None:
    async with gateway(org.client, shared) as second:
        calls = second.calls(org, subject, worker, Clock(NOW))
        await calls.enrol_by_token(org.token(subject))
        calls = door.calls(org, subject, worker, Clock(NOW))
        answer = await calls.credential()
        assert second.credentials.authenticate(f"Bearer {answer.token}").shown == subject


@pytest.mark.parametrize(
    ("body", "status", "code"),
    [
        (b"", 400, "malformed"),
        (b"[]", 400, "malformed"),
        (b'{"subject": "install/acme"}', 400, "malformed"),
        (b"\xff\xfe", 400, "malformed"),
        (b"[" * 60_000, 400, "malformed"),
        (b"x" * 70_000, 413, "too_large"),
    ],
    ids=["empty", "list", "part", "bytes", "deep", "large"],
)
@pytest.mark.parametrize("path", [ENROL_PATH, CREDENTIAL_PATH])
async def test_any_body_is_answered(
    door: Gateway, path: str, body: bytes, status: int, code: str
) -> None:
    async with httpx.AsyncClient(verify=door.address.context()) as http:
        answer = await http.post(door.address.url + path, content=body)
        assert (answer.status_code, answer.json()["code"]) == (status, code)
        assert answer.json()["time"] == NOW
        assert (await http.get(door.address.url + "/v1/time")).json() == {"time": NOW}


async def test_what_a_stranger_makes_up_never_reaches_the_org_s_access(
    org: Org, door: Gateway, subject: str, worker: WorkerIdentity
) -> None:
    """Each update would stay in its history, with an activity and a dozen events."""
    genuine = org.token(subject)
    await soon(door.watch.refresh())
    assert door.watch.token_keys, "the control worker has announced them"
    named = TokenId.parse(genuine.id)
    stranger = EnrolmentAuthority([EnrolmentKey(bytes(32))])
    other = WorkerIdentity.generate()

    def token(id: str) -> dict[str, Any]:
        return {"token": {"id": id, "proof": "p"}}

    earlier = org.signed(subject, other).model_dump()
    made_up: list[tuple[str, dict[str, Any]]] = [
        ("malformed", {}),
        ("malformed", token("garbage")),
        ("malformed", {**token(genuine.id), "earlier": earlier}),
        ("token_invalid", token(str(replace(named, signature="")))),
        ("token_invalid", token(str(replace(named, number="another")))),
        ("token_invalid", token(stranger.mint(replace(named, signature="")).id)),
        ("token_foreign", token(org.token(subject + "-b").id)),
        ("token_expired", token(org.token(subject, seconds=-301).id)),
        ("not_enrolled", {"earlier": earlier}),
        ("not_enrolled", {"earlier": {"sealed": "s", "signature": "s"}}),
        ("not_pinned", {"cloud": {"kind": "aws", "document": "d"}}),
    ]
    before = await length(org)
    async with httpx.AsyncClient(verify=door.address.context()) as http:
        for code, proof in made_up:
            body = {
                "org": ORG,
                "subject": subject,
                "keys": worker.public.model_dump(),
                "time": NOW,
                **proof,
            }
            answer = await http.post(door.address.url + ENROL_PATH, json=body)
            assert answer.json()["code"] == code, proof
            assert answer.status_code in (400, 403)
    assert await length(org) == before
    await soon(door.calls(org, subject, worker, Clock(NOW)).enrol_by_token(genuine))
    assert await length(org) > before


async def test_strangers_do_not_have_temporal_asked_again_and_again(
    org: Org, door: Gateway, subject: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = 0

    async def refresh() -> None:
        nonlocal asked
        asked += 1

    monkeypatch.setattr(door.watch, "refresh", refresh)
    for _ in range(60):
        calls = door.calls(org, subject, WorkerIdentity.generate(), Clock(NOW))
        assert (await refusal(calls.credential())).code == "not_enrolled"
    assert asked < 60


async def length(org: Org) -> int:
    """The length of the history of the org's access."""
    described = await org.entity.describe()
    found: int = described.history_length
    return found


async def test_an_address_that_calls_too_often_is_held_back(org: Org, shared: Shared) -> None:
    limits = AddressLimits(3, 1.0, clock=Clock(0.0))
    strict = Shared(shared.key, shared.clock, limits)
    async with gateway(org.client, strict) as found, httpx.AsyncClient() as http:
        answers = [await http.get(found.address.url + "/v1/time") for _ in range(4)]
    assert [one.status_code for one in answers] == [200, 200, 200, 429]
    assert answers[-1].headers["Retry-After"] == "1"


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


async def test_a_token_of_another_install_is_noticed_before_it_is_sent(
    org: Org, door: Gateway, subject: str, worker: WorkerIdentity
) -> None:
    calls = door.calls(org, subject, worker, Clock(NOW))
    refused = await refusal(calls.enrol_by_token(org.token("install/other")))
    assert refused.code == "token_foreign"
    assert "install/other" in str(refused)
    refused = await refusal(calls.enrol_by_token(org.token(subject, seconds=-1)))
    assert refused.code == "token_expired"
    assert "Render the stack again" in str(refused)
    refused = await refusal(calls.enrol_by_token(EnrolmentToken(org.token(subject).id, bytes(32))))
    assert refused.code == "token_invalid"


async def test_a_fleet_enrols_at_once(org: Org, door: Gateway, subject: str) -> None:
    """A workflow accepts ten updates at a time, so the gateway limits how many it passes on."""

    async def one(number: int) -> None:
        worker = WorkerIdentity.generate()
        calls = door.calls(org, f"{subject}-{number}", worker, time.time)
        await calls.enrol_by_token(org.token(f"{subject}-{number}"))

    await asyncio.wait_for(asyncio.gather(*(one(number) for number in range(40))), 60)
