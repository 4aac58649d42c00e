"""Logs: what the tools of a run printed, read on demand from the install's worker.

They are kept there, and only what a person asks for travels, without what is sensitive.
"""

from datetime import timedelta

from contracts.activities import Activity
from contracts.messages import Message, WorkerInput
from contracts.names import Name

FEATURE_LOGS = "logs/1"

LOG_PAGE_BYTES = 64 * 1024
"""The most that one answer holds."""


class ReadLog(WorkerInput):
    """The input of `operation.log`."""

    install: Name
    key: str
    """The operation's key, as its own activity was given it."""
    position: int = 0
    """Where to read on: 0, or what the answer before told."""
    wait_seconds: float = 0.0
    """How long to wait for something new, at most 30."""


class LogPage(Message):
    """A piece of what an operation's tools printed, all of them one after the other."""

    text: str
    position: int
    """What to ask for next."""
    ended: bool
    """The operation has ended, and nothing comes after this."""


READ_LOG = Activity(
    "operation.log",
    ReadLog,
    LogPage,
    timedelta(seconds=60),
    # A person waits: say that the worker is away instead of waiting with them.
    schedule_to_start=timedelta(seconds=5),
)
"""Started by itself, without a workflow."""
