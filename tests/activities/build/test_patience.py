"""An address that does not answer fails a build after some time, not at once."""

import dataclasses
from datetime import UTC, datetime, timedelta

import pytest
from temporalio.testing import ActivityEnvironment

from activities.build.patience import LEAST_TRIES, PATIENCE, retry_or_give_up
from contracts.errors import EngineFailed, ExclaveError, Unreachable

AWAY = Unreachable("https://git.example.com/owner/name.git cannot be fetched now")
MINUTE = timedelta(minutes=1)


async def judged(attempt: int, waited: timedelta) -> ExclaveError:
    environment = ActivityEnvironment()
    since = datetime.now(UTC) - waited
    environment.info = dataclasses.replace(environment.info, attempt=attempt, scheduled_time=since)
    found: ExclaveError = environment.run(retry_or_give_up, AWAY)
    return found


@pytest.mark.parametrize(
    ("attempt", "waited"),
    [
        (1, MINUTE),
        (LEAST_TRIES * 10, PATIENCE - MINUTE),
        # The build worker was away for a day.
        (LEAST_TRIES - 1, timedelta(days=1)),
    ],
)
async def test_it_is_tried_again(attempt: int, waited: timedelta) -> None:
    assert await judged(attempt, waited) is AWAY


async def test_it_is_given_up_after_an_hour_of_trying() -> None:
    error = await judged(LEAST_TRIES, PATIENCE + MINUTE)
    assert isinstance(error, EngineFailed) and error.non_retryable
    assert "git.example.com" in error.message and "tried 10 times" in error.message
