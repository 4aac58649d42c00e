"""What each activity of the install worker is to the customer's policy.

An activity that stands in none of these, and is no engine's, is refused: whoever adds one must say
what it is.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

from activities.engines import Engine, of_activity
from apps.parts import SANDBOX
from contracts import actions, deploys, installs, logs, operations, provisions, readmes
from contracts.errors import PolicyDenied
from stacks.policy import Operation


def _of_part(input: Any) -> Operation:
    """The work of an engine, whichever it is."""
    is_sandbox, teardown = input.component == SANDBOX, bool(input.teardown)
    if teardown:
        return "deprovision" if is_sandbox else "teardown"
    return "provision" if is_sandbox else "deploy"


def _always(operation: Operation) -> Callable[[Any], Operation]:
    return lambda _: operation


READING: Final = frozenset(
    {
        installs.DESCRIBE.name,
        logs.READ_LOG.name,
        deploys.VIEW.name,
        readmes.READ_README.name,
    }
)
"""They change nothing."""

ENDING: Final = frozenset({operations.STOP.name})
"""They end what was begun; whoever allowed it to begin wants it to be stopped when it must be."""

CHANGING: Final[Mapping[str, Callable[[Any], Operation]]] = {
    deploys.SCOPE.name: _always("deploy"),
    deploys.FINISH.name: _always("deploy"),
    provisions.PROVISION_SCOPE.name: _always("provision"),
    provisions.PROVISION_FINISH.name: _always("provision"),
    provisions.DEPROVISION_SCOPE.name: _always("deprovision"),
    provisions.DEPROVISION_FINISH.name: _always("deprovision"),
    actions.SCOPE.name: _always("action"),
    actions.STEP.name: _always("action"),
}
"""The operation that each belongs to; also of those that only look, since they are its beginning:
what is forbidden fails before anything of it was done."""


def operation_of(activity: str, input: object, engines: Iterable[Engine]) -> Operation | None:
    """The operation that the activity belongs to, or None: it changes nothing.

    Args:
        activity: Its name.
        input: What it was called with.
        engines: Those that the worker has.

    Raises:
        PolicyDenied: nobody has said what the activity is.
    """
    if activity in READING or activity in ENDING:
        return None
    find = _of_part if of_activity(engines, activity) else CHANGING.get(activity)
    if find is None:
        raise PolicyDenied(
            f"{activity} is nothing that the customer's policy knows, so it is not done."
        )
    return find(input)
