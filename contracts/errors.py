"""The errors that reach a person, each with a stable `type` that the Temporal UI shows.

    ExclaveError
    ├── BadInput          what a person sent is wrong; nothing was started
    ├── BadConfig         the app config is wrong: file, key and what would be right
    ├── PolicyDenied      a rule of the customer's or of ours forbids it
    ├── Denied            a person denied the plan
    ├── Cancelled         a person cancelled the run; nothing is begun for it any more
    ├── StalePlan         the plan is not what would be done now; plan again
    ├── TurnRefused       another run holds the right to change this install
    ├── EngineFailed      the tool failed; its own last lines are in the message
    ├── OutcomeUnknown    a script was lost without a result; it is not repeated
    ├── StoreBehind       the store lacks what the run knows to be recorded
    ├── NotUnderstood     the input needs a feature that this worker lacks
    ├── ToolMissing       a tool is not on the worker's machine
    ├── DeployFailed      components failed; every failure is named
    ├── ActionFailed      an action that belongs to the run failed; the run ends with it
    ├── NotThere          what was named does not exist (an install, a release)
    ├── CredentialsRefused a registry or cloud does not accept the credentials
    ├── BadAnswer         a customer's worker answered what none of ours does; the run ends
    ├── PayloadRefused    a payload is not encrypted for whom it was sent to, or was altered
    ├── KeyMissing        a payload's key is not here (yet)          (retryable)
    ├── LockHeld          somebody else's lock is in the way        (retryable)
    ├── Unreachable       an address does not answer                (retryable)
    ├── DiskFull          the worker's machine has no room          (retryable)
    ├── ToolLost          the tool died by a signal, work may remain (retryable)
    ├── Draining          the worker is leaving; another attempt goes on (retryable)
    └── Bug               an exception that nobody foresaw

Retryable means: Temporal tries the activity again, without end, and the UI says what it waits for.
"""

from typing import ClassVar

from temporalio.exceptions import ApplicationError

from apps.display_text import shown_lines


class ExclaveError(ApplicationError):
    """An error with a stable type, written for the person who must act.

    Names and values of others may be in its words, which are shown as what they are.
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
    """What a person sent cannot be used: a wrong key, type, name or id."""


class BadConfig(ExclaveError):
    """The app config is wrong; the message holds every problem with file and key."""


class PolicyDenied(ExclaveError):
    """A rule forbids the operation."""


class Denied(ExclaveError):
    """A person denied the plan."""


class Cancelled(ExclaveError):
    """A person cancelled the run, so nothing is begun for it any more."""


class StalePlan(ExclaveError):
    """What would be done now is more than, or other than, what was planned; plan again."""


class TurnRefused(ExclaveError):
    """The run does not hold the install's turn (any more)."""


class EngineFailed(ExclaveError):
    """A tool ended with a failure of its own."""


class OutcomeUnknown(ExclaveError):
    """A script was lost before it left a result; whether it took effect cannot be known."""


class StoreBehind(ExclaveError):
    """The store is older than what the run has seen of it: a restored copy, or another store."""


class NotUnderstood(ExclaveError):
    """The input names a feature that this worker does not have."""


class ToolMissing(ExclaveError):
    """A tool that the operation needs is not installed."""


class DeployFailed(ExclaveError):
    """One or more components failed."""


class ActionFailed(ExclaveError):
    """An action that the run was to run by itself failed."""


class NotThere(ExclaveError):
    """What was named does not exist."""


class CredentialsRefused(ExclaveError):
    """A registry or a cloud does not accept the credentials that were shown."""


class PayloadRefused(ExclaveError):
    """A payload was not encrypted for the one it was sent to, or was altered on its way."""


class BadAnswer(ExclaveError):
    """A customer's worker answered what no worker of ours answers."""


class KeyMissing(ExclaveError):
    """The key that a payload names is not here; after a rotation it may be on its way."""

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
    """The tool died by a signal; what remains is done by the next attempt."""

    retryable = True


class Draining(ExclaveError):
    """The worker is leaving and had not begun; the next attempt begins elsewhere or later."""

    retryable = True


class Bug(ExclaveError):
    """An exception that nobody foresaw: a fault of Exclave's own."""


def by_type(type_name: str) -> type[ExclaveError]:
    """The class of a recorded error; what an older or newer version recorded may be a Bug here."""
    return {one.__name__: one for one in ExclaveError.__subclasses__()}.get(type_name, Bug)
