"""Stopping an operation: a cancelled run asks the worker for this before it ends."""

from datetime import timedelta

from contracts.activities import Activity
from contracts.messages import Message, Turn, WorkerInput
from contracts.names import Name

FEATURE_STOP = "stop/1"


class StopInput(WorkerInput):
    """The input of `operation.stop`."""

    install: Name
    subject: str
    """What the operation works on: a component's name, or `action/` and an action's name."""
    key: str
    """The key from the operation's own input."""
    turn: Turn | None = None
    """The run's turn, for the record only: a run may always stop what it began."""


class Stopped(Message):
    """No process of the operation is left on the worker's machine, and none will be started."""

    interrupted: bool = False
    """Whether a tool was still alive."""


STOP = Activity(
    "operation.stop",
    StopInput,
    Stopped,
    # A tool may stop slowly, and it may run under a worker on another machine.
    timedelta(days=1),
)
