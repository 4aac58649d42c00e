"""Declares an activity: its name, messages, timeouts and retry policy, in one place."""

from dataclasses import dataclass, field
from datetime import timedelta
from typing import Generic, TypeVar

from pydantic import BaseModel
from temporalio.common import RetryPolicy

I = TypeVar("I", bound=BaseModel)  # noqa: E741 - the usual names for input and output
O = TypeVar("O", bound=BaseModel)  # noqa: E741

HEARTBEAT_TIMEOUT = timedelta(seconds=20)
"""How long a dead worker stays unnoticed. Short, since recovery waits for it; long enough for a
machine to send its heartbeats while a tool keeps all its cores busy."""

UNTIL_DONE = RetryPolicy(
    initial_interval=timedelta(seconds=1),
    maximum_interval=timedelta(seconds=30),
    # The worker does not know the activity type, which waiting does not change.
    non_retryable_error_types=["NotFoundError"],
)
"""Retries until it is done; errors that waiting cannot cure are non-retryable by their type."""

FEW = RetryPolicy(
    initial_interval=timedelta(seconds=0.2),
    maximum_attempts=5,
    non_retryable_error_types=["NotFoundError"],
)
"""For quick reads whose answer somebody waits for."""


@dataclass(frozen=True)
class Activity(Generic[I, O]):
    """The declaration of an activity: workflows call it by this, workers implement it."""

    name: str
    input: type[I]
    result: type[O]
    start_to_close: timedelta
    retry: RetryPolicy = field(default_factory=lambda: UNTIL_DONE)
    heartbeat: timedelta | None = HEARTBEAT_TIMEOUT
    schedule_to_start: timedelta | None = None
    """None for deploy work: a worker may be away for a day."""
