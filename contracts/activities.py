"""How an activity is declared: its name, messages, timeouts and retry policy, in one place."""

from dataclasses import dataclass, field
from datetime import timedelta
from typing import Generic, TypeVar

from pydantic import BaseModel
from temporalio.common import RetryPolicy

I = TypeVar("I", bound=BaseModel)  # noqa: E741 - I and O are what the field calls them
O = TypeVar("O", bound=BaseModel)  # noqa: E741

HEARTBEAT_TIMEOUT = timedelta(seconds=20)
"""How long a dead worker stays unnoticed. Short, since recovery waits for it; long enough that a
machine whose every core is pinned by a tool still gets its heartbeats out."""

UNTIL_DONE = RetryPolicy(
    initial_interval=timedelta(seconds=1),
    maximum_interval=timedelta(seconds=30),
    # An activity type that the worker does not know: waiting does not teach it.
    non_retryable_error_types=["NotFoundError"],
)
"""Tried again until it is done: errors that waiting cannot mend are non-retryable by their type."""

FEW = RetryPolicy(
    initial_interval=timedelta(seconds=0.2),
    maximum_attempts=5,
    non_retryable_error_types=["NotFoundError"],
)
"""For a quick look: somebody waits for the answer."""


@dataclass(frozen=True)
class Activity(Generic[I, O]):
    """The declaration of an activity, which workflows call by and workers implement."""

    name: str
    input: type[I]
    result: type[O]
    start_to_close: timedelta
    retry: RetryPolicy = field(default_factory=lambda: UNTIL_DONE)
    heartbeat: timedelta | None = HEARTBEAT_TIMEOUT
    schedule_to_start: timedelta | None = None
    """None for deploy work: a worker may be away for a day."""
