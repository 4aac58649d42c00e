"""Logs: what a run's tools printed, read on demand from the install's worker.

Logs stay with the worker; only what a person asks for travels, with sensitive values masked.
"""

from datetime import timedelta

from contracts.activities import Activity
from contracts.messages import Message, WorkerInput
from contracts.names import Name

FEATURE_LOGS = "logs/1"

LOG_PAGE_BYTES = 64 * 1024
"""The most that one answer contains."""


class ReadLog(WorkerInput):
    """The input of `operation.log`."""

    install: Name
    key: str
    """The key from the operation's own input."""
    position: int = 0
    """Where to start reading: 0, or the `position` of the previous answer."""
    wait_seconds: float = 0.0
    """How long to wait for new output, at most 30."""


class LogPage(Message):
    """A piece of the output of an operation's tools, one tool after another."""

    text: str
    position: int
    """Where the next page begins."""
    ended: bool
    """The operation has ended, and no more output follows."""


READ_LOG = Activity(
    "operation.log",
    ReadLog,
    LogPage,
    timedelta(seconds=60),
    # A person waits: say that the worker is away instead of waiting with them.
    schedule_to_start=timedelta(seconds=5),
)
"""Started as a standalone activity, without a workflow."""
