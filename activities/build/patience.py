"""How long a build waits for an address that does not answer."""

from datetime import UTC, datetime, timedelta
from typing import Final

from temporalio import activity

from contracts.errors import EngineFailed, ExclaveError, Unreachable

PATIENCE: Final = timedelta(hours=1)
"""A host that restarts, or a network that is mended, is back within that; whoever waits longer for
a release wants to hear why. What a deploy needs is waited for without end: nothing may be half done
there, and a build can be started again at any time."""

LEAST_TRIES: Final = 10
"""Before it is given up: the build worker itself may have been away until now."""


def or_given_up(error: Unreachable) -> ExclaveError:
    """The error that a check ends with: it is tried again, until it was tried for long enough."""
    info = activity.info()
    waited = datetime.now(UTC) - info.scheduled_time
    if info.attempt < LEAST_TRIES or waited < PATIENCE:
        return error
    return EngineFailed(
        f"{error.message}\nIt was tried {info.attempt} times since "
        f"{info.scheduled_time:%Y-%m-%d %H:%M} UTC, and is given up. Build again once it answers; "
        "is the address right, and may the build worker's machine reach it?"
    )
