"""Handles activities that are not registered: they are recorded in the audit log, and refused."""

from collections.abc import Sequence

from temporalio import activity
from temporalio.common import RawValue
from temporalio.exceptions import ApplicationError

from apps.display_text import shown


@activity.defn(dynamic=True)
async def refuse_unknown(args: Sequence[RawValue]) -> None:
    """Refuse the activity; the customer's guard, which runs first, has recorded it."""
    raise unknown_activity()


def unknown_activity() -> ApplicationError:
    """The error for an activity that this worker does not know. It has the SDK's own type, from
    which workflows and commands conclude that the worker is older than they are."""
    name = shown(activity.info().activity_type)
    return ApplicationError(
        f"This worker knows no activity {name!r}: either it is older than the caller, or that is "
        "not an activity of Exclave.",
        type="NotFoundError",
        non_retryable=True,
    )
