"""The limits of each identity, and the log of denials."""

import json
import logging

import pytest

from apps.display_text import shown
from gateway.audit import OTHER_RPC, Audit
from gateway.identity import Identity
from gateway.limits import Allowances, Buckets, Limits, TooMuch
from tests.gateway.gateway_parts import build, install


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


def test_a_burst_is_let_through_and_then_the_rate(clock: Clock) -> None:
    allowances = Allowances(Limits(calls_per_second=2, calls_at_once=3), clock)
    for _ in range(3):
        allowances.call(install("acme"))
    with pytest.raises(TooMuch, match="more than 2 calls a second"):
        allowances.call(install("acme"))
    clock.now += 0.5
    allowances.call(install("acme"))


def test_one_identity_takes_nothing_from_another(clock: Clock) -> None:
    allowances = Allowances(Limits(calls_per_second=1, calls_at_once=1), clock)
    for identity in (install("acme"), install("other"), install("acme", org="other"), build()):
        allowances.call(identity)
    with pytest.raises(TooMuch):
        allowances.call(install("acme"))


def test_polls_are_counted_while_they_wait() -> None:
    allowances = Allowances(Limits(polls=1))
    with allowances.poll(install("acme")):
        with pytest.raises(TooMuch, match="1 polls waiting"), allowances.poll(install("acme")):
            pass
        with allowances.poll(install("other")):
            assert allowances.polls == 2
    with allowances.poll(install("acme")):
        assert allowances.polls == 1
    assert allowances.polls == 0


def test_buckets_that_are_full_again_are_forgotten(clock: Clock) -> None:
    buckets = Buckets(rate=1, size=1, most=2, clock=clock)
    assert buckets.take("a")
    assert buckets.take("b")
    assert not buckets.take("c")
    clock.now += 1
    assert buckets.take("c")
    assert len(buckets) == 1


def denied(audit: Audit, identity: Identity | None = None, peer: str = "10.0.0.1:1") -> None:
    audit.denied(
        identity=identity,
        method="/some/Method",
        counted_as=OTHER_RPC,
        status="PERMISSION_DENIED",
        reason="it may not",
        peer=peer,
    )


def test_a_denial_is_a_line_of_json(caplog: pytest.LogCaptureFixture, clock: Clock) -> None:
    denied(Audit(clock), install("acme"))
    [line] = caplog.messages
    assert json.loads(line) == {
        "event": "denied",
        "org": "dev",
        "identity": "install/acme",
        "key": "a-key",
        "method": "/some/Method",
        "status": "PERMISSION_DENIED",
        "reason": "it may not",
        "peer": "10.0.0.1:1",
    }


def test_a_denial_is_one_line_whatever_was_called(
    caplog: pytest.LogCaptureFixture, clock: Clock
) -> None:
    hostile = "/some\n\x7f\x85\u2028\u202e\x1b[8m"
    Audit(clock).denied(
        identity=None, method=hostile, counted_as=OTHER_RPC, status="UNIMPLEMENTED",
        reason=hostile, peer="10.0.0.1:1",
    )  # fmt: skip
    [line] = caplog.messages
    assert line == shown(line)
    assert json.loads(line)["method"] == hostile


def test_nobody_fills_the_disk_and_everything_is_counted(
    caplog: pytest.LogCaptureFixture, clock: Clock
) -> None:
    audit = Audit(clock)
    for _ in range(1000):
        denied(audit, install("acme"))
    assert len(caplog.messages) == 10
    assert audit.counters.denials[OTHER_RPC, "PERMISSION_DENIED"] == 1000
    clock.now += 1
    denied(audit, install("acme"))
    assert json.loads(caplog.messages[-1])["untold_before"] == 990


def test_nor_do_many_together(caplog: pytest.LogCaptureFixture, clock: Clock) -> None:
    audit = Audit(clock)
    for number in range(1000):
        denied(audit, peer=f"10.0.{number // 250}.{number % 250}:1")
    assert len(caplog.messages) == 500
    assert audit.counters.unlogged == 500
    caplog.clear()
    logging.getLogger("gateway.audit").debug("the log itself still works")
