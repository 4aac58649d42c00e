"""The queue of turns by itself: who holds, who waits, and who is looked at."""

import asyncio
import logging
from typing import Any
from unittest.mock import Mock

import pytest
from temporalio import workflow
from temporalio.exceptions import ActivityError, RetryState

from activities.installs.stack import WorkerAddresses
from contracts.deploys import Inputs
from contracts.installs import CarriedInstall, Holder, TurnEnd, TurnRequest, WatchRunInput
from contracts.messages import Nothing, Turn
from workers import control
from workflows.installs import turn_queue
from workflows.installs.turn_queue import TurnQueue

TURN = Turn(number=7, workflow_id="deploy/acme/mine")
FIRST, SECOND, OTHER = (f"0198c0de-0000-7000-8000-00000000000{n}" for n in range(3))
HOLDER = Holder(turn=TURN, run_id=FIRST)


def request(run_id: str, workflow_id: str = TURN.workflow_id) -> TurnRequest:
    return TurnRequest(workflow_id=workflow_id, run_id=run_id)


def queue(holder: Holder | None = HOLDER) -> TurnQueue:
    return TurnQueue("shop", CarriedInstall(last_turn=7, holder=holder))


class Looks:
    """Stands for `install.watch_run`."""

    def __init__(self) -> None:
        self.inputs: list[WatchRunInput] = []
        self.failures = 0
        self.ended = asyncio.Event()

    async def call(self, _: Any, input: WatchRunInput, **more: Any) -> Nothing:
        self.inputs.append(input)
        if self.failures:
            self.failures -= 1
            raise ActivityError(
                "no", scheduled_event_id=1, started_event_id=1, identity="", activity_type="",
                activity_id="", retry_state=RetryState.NON_RETRYABLE_FAILURE,
            )  # fmt: skip
        await self.ended.wait()
        return Nothing()


@pytest.fixture
def looks(monkeypatch: pytest.MonkeyPatch) -> Looks:
    made = Looks()
    monkeypatch.setattr(turn_queue, "call", made.call)
    return made


def test_the_holders_own_request_changes_nothing() -> None:
    one = queue()
    one.request(request(FIRST))
    assert not one.waiting
    assert not one.has_work


async def test_another_run_of_the_holders_name_waits_while_the_holder_is_looked_at(
    looks: Looks,
) -> None:
    one = queue()
    one.request(request(SECOND))
    one.request(request(SECOND))
    assert one.waiting == [request(SECOND)]
    await one.advance(Inputs(), [])
    looks.ended.set()
    while one.holder is not None:
        await asyncio.sleep(0)
    assert looks.inputs == [WatchRunInput(workflow_id=TURN.workflow_id, run_id=FIRST)]


@pytest.mark.parametrize("turn", [TURN, None])
def test_an_end_frees_the_turn_of_its_run_also_if_the_run_did_not_know_of_it(
    turn: Turn | None,
) -> None:
    one = queue()
    one.end(TurnEnd(workflow_id=TURN.workflow_id, run_id=FIRST, turn=turn))
    assert one.holder is None


def test_the_end_of_another_run_frees_nothing() -> None:
    one = queue()
    one.end(TurnEnd(workflow_id=TURN.workflow_id, run_id=SECOND, turn=None))
    assert one.holder == HOLDER


async def test_a_run_that_is_about_to_start_is_not_looked_at(looks: Looks) -> None:
    """By its name it would not be found, and lose its turn."""
    one = queue(Holder(turn=TURN, run_id=""))
    one.request(request(OTHER, "deploy/acme/other"))
    assert not one.has_work
    await one.advance(Inputs(), [])
    await asyncio.sleep(0)
    assert not looks.inputs
    one.started(TURN, FIRST)
    assert one.has_work


async def test_a_look_that_failed_is_tried_again(
    looks: Looks, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(turn_queue, "_LOOK_AGAIN_SECONDS", 0)
    monkeypatch.setattr(workflow, "logger", logging.getLogger(__name__))
    looks.failures = 2
    looks.ended.set()
    one = queue()
    one.request(request(OTHER, "deploy/acme/other"))
    await one.advance(Inputs(), [])
    async with asyncio.timeout(5):
        while one.holder is not None:
            await asyncio.sleep(0)
    assert len(looks.inputs) == 3


def test_looks_leave_slots_for_everything_else(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each takes one of the control worker's for as long as somebody waits for that holder."""
    worker = Mock()
    monkeypatch.setattr(control, "Worker", worker)
    addresses = WorkerAddresses("127.0.0.1:9", "http://127.0.0.1:9")
    control.make(Mock(), "http://127.0.0.1:9", addresses)
    assert worker.call_args.kwargs["max_concurrent_activities"] == 10_000
