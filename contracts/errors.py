"""The errors that reach a person, each with a stable `type` that the Temporal UI shows.

    ExclaveError
    ├── BadInput          what a person sent is wrong; nothing was started
    ├── BadConfig         the app config is wrong: file, key and what would be right
    ├── PolicyDenied      a rule, the customer's or Exclave's own, forbids it
    ├── Denied            a person denied the plan
    ├── Cancelled         a person cancelled the run; it starts nothing more
    ├── StalePlan         the plan is not what would be done now; plan again
    ├── TurnRefused       another run holds the right to change this install
    ├── EngineFailed      the tool failed; its own last lines are in the message
    ├── OutcomeUnknown    a script was lost without a result; it is not repeated
    ├── StoreBehind       the store lacks something that the run knows was recorded
    ├── NotUnderstood     the input needs a feature that this worker lacks
    ├── ToolMissing       a tool is not on the worker's machine
    ├── DeployFailed      components failed; every failure is named
    ├── ActionFailed      an action that belongs to the run failed; the run ends with it
    ├── NotThere          the named thing does not exist (an install, a release)
    ├── CredentialsRefused a registry or cloud does not accept the credentials
    ├── BadAnswer         a customer's worker gave an answer that no genuine one gives; the run ends
    ├── PayloadRefused    a payload is not encrypted for its recipient, or was altered
    ├── KeyMissing        a payload's key is not here (yet)          (retryable)
    ├── LockHeld          somebody else's lock is in the way        (retryable)
    ├── Unreachable       an address does not answer                (retryable)
    ├── DiskFull          the worker's machine has no room          (retryable)
    ├── ToolLost          the tool died by a signal, work may remain (retryable)
    ├── Draining          the worker is shutting down; another attempt goes on (retryable)
    └── Bug               an exception that nobody foresaw

Retryable means: Temporal retries the activity without limit, and the UI shows what it waits for.
"""

from typing import ClassVar

from temporalio.exceptions import ApplicationError

from apps.display_text import shown_lines


class ExclaveError(ApplicationError):
    """An error with a stable type, written for the person who must act.

    The message may contain names and values chosen by others, so control characters in it are made
    visible.
    """

    retryable: ClassVar[bool] = False

    def __init__(self, message: str, *details: object) -> None:
        super().__init__(
            shown_lines(message),
            *details,
            type=type(self).__name__,
            non_retryable=not self.retryable,
        )


class BadInput(ExclaveError):
    """Something that a person sent cannot be used: a wrong key, type, name or id."""


class BadConfig(ExclaveError):
    """The app config is wrong; the message lists every problem with its file and key."""


class PolicyDenied(ExclaveError):
    """A rule forbids the operation."""


class Denied(ExclaveError):
    """A person denied the plan."""


class Cancelled(ExclaveError):
    """A person cancelled the run, so it starts nothing more."""


class StalePlan(ExclaveError):
    """The changes to be made now differ from, or exceed, those that were planned; plan again."""


class TurnRefused(ExclaveError):
    """The run does not hold the install's turn (any more)."""


class EngineFailed(ExclaveError):
    """A tool failed by itself."""


class OutcomeUnknown(ExclaveError):
    """A script was lost before it left a result; whether it took effect cannot be known."""


class StoreBehind(ExclaveError):
    """The store is older than the run last saw it: a restored copy, or another store."""


class NotUnderstood(ExclaveError):
    """The input names a feature that this worker does not have."""


class ToolMissing(ExclaveError):
    """A tool that the operation needs is not installed."""


class DeployFailed(ExclaveError):
    """One or more components failed."""


class ActionFailed(ExclaveError):
    """An action that the run triggered failed."""


class NotThere(ExclaveError):
    """The named thing does not exist."""


class CredentialsRefused(ExclaveError):
    """A registry or a cloud does not accept the credentials that it was given."""


class PayloadRefused(ExclaveError):
    """A payload was not encrypted for its recipient, or was altered on the way."""


class BadAnswer(ExclaveError):
    """A customer's worker gave an answer that no genuine worker gives."""


class KeyMissing(ExclaveError):
    """The key that a payload names is not here; after a rotation it may still arrive."""

    retryable = True


class LockHeld(ExclaveError):
    """Somebody else's lock is in the way; the message names the holder."""

    retryable = True


class Unreachable(ExclaveError):
    """An address does not answer; the message names it and why."""

    retryable = True


class DiskFull(ExclaveError):
    """A disk of the worker's machine is full; the message names it and how much is free."""

    retryable = True


class ToolLost(ExclaveError):
    """The tool died by a signal; the next attempt does the rest."""

    retryable = True


class Draining(ExclaveError):
    """The worker is shutting down and had not begun; the next attempt starts elsewhere or later."""

    retryable = True


class Bug(ExclaveError):
    """An exception that nobody foresaw: a fault of Exclave's own."""


def by_type(type_name: str) -> type[ExclaveError]:
    """The class of a recorded error; `Bug` for a type that only another version knows."""
    return {one.__name__: one for one in ExclaveError.__subclasses__()}.get(type_name, Bug)
