"""How long a build keeps trying an address that does not answer."""

from datetime import UTC, datetime, timedelta
from typing import Final

from temporalio import activity

from contracts.errors import EngineFailed, ExclaveError, Unreachable

PATIENCE: Final = timedelta(hours=1)
"""A host that restarts, or a network that is repaired, is back within this time; someone who waits
longer for a release wants to know why. A deploy, in contrast, waits without limit, since it must
not stop half way. A build can be started again at any time."""

LEAST_TRIES: Final = 10
"""Tries before a build gives up, since the build worker itself may have been away until now."""


def retry_or_give_up(error: Unreachable) -> ExclaveError:
    """The error that a check raises: the given one, which is retried, or a final one if it was
    retried for long enough."""
    info = activity.info()
    waited = datetime.now(UTC) - info.scheduled_time
    if info.attempt < LEAST_TRIES or waited < PATIENCE:
        return error
    return EngineFailed(
        f"{error.message}\nThe build tried {info.attempt} times since "
        f"{info.scheduled_time:%Y-%m-%d %H:%M} UTC, and gave up. Check that the address is right "
        "and that the build worker's machine may reach it, then build again."
    )
