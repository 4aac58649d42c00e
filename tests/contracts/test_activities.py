"""Declarations of activities: nothing hangs unnoticed, and nothing is retried in vain for ever."""

import re
from datetime import timedelta

import pytest
from pydantic import BaseModel

from contracts.activities import Activity
from contracts.messages import Message, OperationInput, WorkerInput
from tests.contracts.contract_models import activities

ALL = activities()
LOCAL = {"release.read", "access.verify_enrolment"}
"""Run inside the control worker, where a heartbeat means nothing."""

CONTROL_SIDE = re.compile(
    r"(build|release)\..*|install\.(open_runs|watch_run|set_schedules)|stack\..*|access\..*"
)
"""Run on the control plane's own workers, which are never older than it."""


def test_they_are_found() -> None:
    assert len(ALL) >= 14
    names = [one.name for one in ALL.values()]
    assert len(set(names)) == len(names)


@pytest.mark.parametrize("one", ALL.values(), ids=list(ALL))
class TestEach:
    def test_its_name_is_engine_and_verb(self, one: Activity[BaseModel, BaseModel]) -> None:
        assert re.fullmatch(r"[a-z]+\.[a-z_]+", one.name)

    def test_a_dead_worker_is_noticed(self, one: Activity[BaseModel, BaseModel]) -> None:
        if one.name in LOCAL:
            assert one.heartbeat is None
            assert one.start_to_close <= timedelta(minutes=1)
        else:
            assert one.heartbeat is not None
            assert timedelta(seconds=5) <= one.heartbeat <= timedelta(minutes=1)

    def test_a_type_that_the_worker_lacks_is_not_tried_again(
        self, one: Activity[BaseModel, BaseModel]
    ) -> None:
        assert "NotFoundError" in (one.retry.non_retryable_error_types or [])

    def test_both_sides_are_messages(self, one: Activity[BaseModel, BaseModel]) -> None:
        assert issubclass(one.input, Message)
        assert issubclass(one.result, Message)
        if not CONTROL_SIDE.fullmatch(one.name):
            assert issubclass(one.input, WorkerInput), "an old worker must be able to refuse"

    def test_only_what_a_person_waits_for_gives_up_before_it_starts(
        self, one: Activity[BaseModel, BaseModel]
    ) -> None:
        waited_for = {"plan.view", "operation.log", "access.mint_token", "install.readme"}
        expected = timedelta(seconds=5) if one.name in waited_for else None
        if one.name == "control.keys":
            # The control worker is asked before every command, and busy at times.
            expected = timedelta(seconds=10)
        assert one.schedule_to_start == expected

    def test_operations_outlast_their_tools(self, one: Activity[BaseModel, BaseModel]) -> None:
        if issubclass(one.input, OperationInput):
            assert one.start_to_close >= timedelta(days=1)
            assert one.retry.maximum_attempts == 0, "tried until it is done"
