"""Leases: who holds a subject, for how long, and who may take it over."""

from pathlib import Path

import pytest

from store.errors import Malformed
from store.interface import ANY, Store
from store.leases import LEASE_SECONDS, Leases, LeaseTaken
from store.machine import Machine


class Clock:
    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


HERE = Machine("here", "boot1")
THERE = Machine("there", "boot9")


def test_a_free_subject_is_taken(store: Store, clock: Clock) -> None:
    leases = Leases(store, HERE, clock)
    lease = leases.acquire("acme/vpc", "k1")
    assert leases.is_own(lease)
    assert lease.expires_at == 1000 + LEASE_SECONDS
    assert store.get("leases/acme/vpc.json") is not None


def test_another_machine_learns_the_holder_until_it_expires(store: Store, clock: Clock) -> None:
    held = Leases(store, HERE, clock).acquire("s", "k1")
    there = Leases(store, THERE, clock)
    assert there.acquire("s", "k2") == held
    clock.now = held.expires_at - 0.1
    assert there.acquire("s", "k2") == held
    clock.now = held.expires_at
    assert there.is_own(there.acquire("s", "k2"))


def test_the_same_machine_takes_its_own_and_what_it_held_before_a_reboot(
    store: Store, clock: Clock
) -> None:
    first = Leases(store, HERE, clock)
    since = first.acquire("s", "k1").since
    clock.now += 5
    assert first.acquire("s", "k1").since == since
    assert first.acquire("s", "k2").since == 1005
    rebooted = Leases(store, Machine("here", "boot2"), clock)
    assert rebooted.is_own(rebooted.acquire("s", "k3"))
    with pytest.raises(LeaseTaken):
        first.renew("s")


def test_renewal_prolongs_and_notices_a_loss(store: Store, clock: Clock) -> None:
    here = Leases(store, HERE, clock)
    taken = here.acquire("s", "k1")
    clock.now += 50
    renewed = here.renew("s")
    assert (renewed.expires_at, renewed.since) == (1050 + LEASE_SECONDS, taken.since)
    clock.now += LEASE_SECONDS + 1
    Leases(store, THERE, clock).acquire("s", "k2")
    with pytest.raises(LeaseTaken, match="machine there for k2"):
        here.renew("s")


def test_an_expired_lease_that_nobody_took_can_be_renewed(store: Store, clock: Clock) -> None:
    here = Leases(store, HERE, clock)
    here.acquire("s", "k1")
    clock.now += 10 * LEASE_SECONDS
    assert here.renew("s").expires_at > clock.now


def test_release_frees_the_own_lease_only(store: Store, clock: Clock) -> None:
    here, there = Leases(store, HERE, clock), Leases(store, THERE, clock)
    here.release("s")
    here.acquire("s", "k1")
    there.release("s")
    assert here.is_own(there.acquire("s", "k2"))
    here.release("s")
    assert there.is_own(there.acquire("s", "k2"))
    with pytest.raises(LeaseTaken):
        here.renew("s")


@pytest.mark.parametrize("data", [b"nonsense", b"[]", b'{"key": "k"}'])
def test_what_is_no_lease_is_reported(store: Store, clock: Clock, data: bytes) -> None:
    store.put("leases/s.json", data, if_match=ANY)
    with pytest.raises(Malformed, match=r"leases/s\.json"):
        Leases(store, HERE, clock).acquire("s", "k1")


def test_a_machine_is_the_same_for_one_data_folder_and_another_for_the_next(
    tmp_path: Path,
) -> None:
    one = Machine.here(tmp_path / "a")
    assert Machine.here(tmp_path / "a") == one
    other = Machine.here(tmp_path / "b")
    assert other.id != one.id
    assert other.boot == one.boot
    assert [p.name for p in (tmp_path / "a").iterdir()] == ["machine-id"]


def test_what_other_machines_work_on_is_known_while_their_leases_last(
    store: Store, clock: Clock
) -> None:
    here, there = Leases(store, HERE, clock), Leases(store, THERE, clock)
    assert here.others() == {}
    here.acquire("net", "k1")
    held = there.acquire("action/health", "k2")
    assert here.others() == {"action/health": held}
    clock.now = held.expires_at
    assert here.others() == {}
