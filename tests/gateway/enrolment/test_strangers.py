"""What somebody without a credential can make a gateway do."""

from dataclasses import replace
from typing import Any

import httpx
import pytest

from activities.access.authority import EnrolmentAuthority, EnrolmentKey
from gateway.enrolment.address_limits import AddressLimits
from tests.gateway.enrolment.parts import NOW, refusal
from tests.gateway.enrolment_site import (
    ORG,
    Clock,
    Gateway,
    Org,
    Shared,
    gateway,
    soon,
)
from wire.enrolment.messages import (
    CREDENTIAL_PATH,
    ENROL_PATH,
)
from wire.enrolment.token import TokenId
from wire.enrolment.worker_identity import WorkerIdentity

pytestmark = [pytest.mark.process, pytest.mark.asyncio(loop_scope="module")]


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
