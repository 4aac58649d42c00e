"""Enrolment and credentials over a real HTTP server: what passes, and how the rest is refused."""

import asyncio
import logging
import time
import uuid
from typing import Any

import httpx
import jwt
import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from activities.access.authority import EnrolmentKey
from gateway.identity import Standing, Unauthenticated
from tests.gateway.enrolment.parts import NOW, keys_of, refusal
from tests.gateway.enrolment_site import (
    ORG,
    Clock,
    Gateway,
    Org,
    Shared,
    enrolee,
    gateway,
    serving,
    soon,
)
from wire.enrolment.client import AnswerForged, GatewayAway, GatewayCalls
from wire.enrolment.messages import (
    ASSERTION_AUDIENCE,
    CREDENTIAL_PATH,
    ENROL_PATH,
    EnrolAnswer,
    EnrolBody,
)
from wire.enrolment.sealing import CannotUnseal, decoded, encoded, seal, unseal
from wire.enrolment.token import EnrolmentToken, answer_bytes, sealed_about
from wire.enrolment.worker_identity import WorkerIdentity
from wire.network.gateway_address import GatewayAddress

pytestmark = [pytest.mark.process, pytest.mark.asyncio(loop_scope="module")]


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
