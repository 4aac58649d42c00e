"""Stopping an operation: what a cancelled run asks of the worker before it says that it ended."""

from datetime import timedelta

from contracts.activities import Activity
from contracts.messages import Message, Turn, WorkerInput
from contracts.names import Name

FEATURE_STOP = "stop/1"


class StopInput(WorkerInput):
    """The input of `operation.stop`."""

    install: Name
    subject: str
    """What the operation works on: a component's name, or `action/` and an action's."""
    key: str
    """The operation's key, as its own activity was given it."""
    turn: Turn | None = None
    """The run's turn, for the record: what a run began it may always stop, so none is checked."""


class Stopped(Message):
    """No process of the operation is left on the worker's machine, and none will be started."""

    interrupted: bool = False
    """Whether a tool was still alive."""


STOP = Activity(
    "operation.stop",
    StopInput,
    Stopped,
    # A tool may take its time to stop by itself, and a worker on another machine may have it.
    timedelta(days=1),
)
