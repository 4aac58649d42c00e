"""A step whose supervisor died just as it started: it runs once, or its outcome is unknown."""

from pathlib import Path

import pytest

from activities.operations import status as status_module
from contracts.errors import OutcomeUnknown, ToolLost
from tests.activities.action.test_action_steps import OUT, Site, step
from tests.activities.operations.dying_supervisor import DyingSupervisors

pytestmark = pytest.mark.process


@pytest.fixture
def supervisors(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> DyingSupervisors:
    return DyingSupervisors(tmp_path / "patch", monkeypatch)


def one_step(root: Path, more: str = "") -> Site:
    return Site(root, step("only", f"echo ran >> {root}/ran; {more} echo a=1 >> {OUT}"))


def times_it_ran(root: Path) -> int:
    ran = root / "ran"
    return len(ran.read_text().splitlines()) if ran.exists() else 0


async def test_one_that_never_began_runs_under_the_same_key(
    tmp_path: Path, supervisors: DyingSupervisors
) -> None:
    site = one_step(tmp_path)
    supervisors.next_dies(started=False)
    with pytest.raises(ToolLost, match="nothing was done") as caught:
        await site.step(0)
    assert not caught.value.non_retryable
    assert supervisors.died
    assert times_it_ran(tmp_path) == 0
    assert (await site.step(0)).outputs.values == {"a": "1"}
    assert times_it_ran(tmp_path) == 1


async def test_one_that_began_is_waited_for_and_not_run_again(
    tmp_path: Path, supervisors: DyingSupervisors
) -> None:
    site = one_step(tmp_path, "sleep 0.3;")
    supervisors.next_dies(started=True)
    assert (await site.step(0)).outputs.values == {"a": "1"}
    assert supervisors.died
    assert times_it_ran(tmp_path) == 1


async def test_one_that_was_killed_too_may_have_done_anything(
    tmp_path: Path, supervisors: DyingSupervisors
) -> None:
    site = one_step(tmp_path, "kill -9 $PPID; kill -9 $$;")
    supervisors.next_dies(started=True)
    for _ in ("the same attempt", "another one"):
        with pytest.raises(OutcomeUnknown, match="how it ended is unknown") as caught:
            await site.step(0)
        assert caught.value.non_retryable
    assert times_it_ran(tmp_path) == 1


@pytest.mark.parametrize("by_a_later_attempt", [False, True])
async def test_of_another_boot_nothing_is_proven(
    tmp_path: Path,
    supervisors: DyingSupervisors,
    monkeypatch: pytest.MonkeyPatch,
    by_a_later_attempt: bool,
) -> None:
    site = one_step(tmp_path)
    supervisors.next_dies(started=False)
    if by_a_later_attempt:
        with pytest.raises(ToolLost):
            await site.step(0)
    monkeypatch.setattr(status_module, "this_boot", lambda: "another")
    with pytest.raises(OutcomeUnknown, match="how it ended is unknown"):
        await site.step(0)
    assert supervisors.died
    assert times_it_ran(tmp_path) == 0
