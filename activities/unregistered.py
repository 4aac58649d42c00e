"""What an activity that is not registered runs as: it is written into the journal, and refused."""

from collections.abc import Sequence

from temporalio import activity
from temporalio.common import RawValue
from temporalio.exceptions import ApplicationError

from apps.display_text import shown


@activity.defn(dynamic=True)
async def refuse_unknown(args: Sequence[RawValue]) -> None:
    """Refuse it; the customer's guard stands before this, too, and has written it down."""
    raise unknown_activity()


def unknown_activity() -> ApplicationError:
    """The error of an activity that this worker does not know: of the type that the SDK itself
    gives it, which workflows and commands take for a worker that is older than they are."""
    name = shown(activity.info().activity_type)
    return ApplicationError(
        f"This worker knows no activity {name!r}: it is older than what asks for it, or that is "
        "none of Exclave's.",
        type="NotFoundError",
        non_retryable=True,
    )
