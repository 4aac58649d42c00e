"""Which operation kind of the customer's policy each activity of the install worker belongs to.

An activity that is listed nowhere here, and is not an engine's, is refused: whoever adds one must
classify it.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

from activities.engines import Engine, of_activity
from apps.parts import SANDBOX
from contracts import actions, deploys, installs, logs, operations, provisions, readmes
from contracts.errors import PolicyDenied
from stacks.policy import OperationKind


def _of_part(input: Any) -> OperationKind:
    """The operation kind of any engine's work on a part."""
    is_sandbox, teardown = input.component == SANDBOX, bool(input.teardown)
    if teardown:
        return "deprovision" if is_sandbox else "teardown"
    return "provision" if is_sandbox else "deploy"


def _always(kind: OperationKind) -> Callable[[Any], OperationKind]:
    return lambda _: kind


READING: Final = frozenset(
    {
        installs.DESCRIBE.name,
        logs.READ_LOG.name,
        deploys.VIEW.name,
        readmes.READ_README.name,
    }
)
"""Activities that change nothing."""

ENDING: Final = frozenset({operations.STOP.name})
"""Activities that stop what has begun; always allowed, so that it can be stopped in time."""

CHANGING: Final[Mapping[str, Callable[[Any], OperationKind]]] = {
    deploys.SCOPE.name: _always("deploy"),
    deploys.FINISH.name: _always("deploy"),
    provisions.PROVISION_SCOPE.name: _always("provision"),
    provisions.PROVISION_FINISH.name: _always("provision"),
    provisions.DEPROVISION_SCOPE.name: _always("deprovision"),
    provisions.DEPROVISION_FINISH.name: _always("deprovision"),
    actions.SCOPE.name: _always("action"),
    actions.STEP.name: _always("action"),
}
"""The operation kind of each activity that changes something, or that begins such work: a scope
only reads, but what is forbidden should fail before any of it is done."""


def kind_of(activity: str, input: object, engines: Iterable[Engine]) -> OperationKind | None:
    """The operation kind that the activity belongs to; None if it changes nothing.

    Args:
        activity: The activity's name.
        input: Its argument.
        engines: The engines that the worker has.

    Raises:
        PolicyDenied: the activity is not classified.
    """
    if activity in READING or activity in ENDING:
        return None
    find = _of_part if of_activity(engines, activity) else CHANGING.get(activity)
    if find is None:
        raise PolicyDenied(f"{activity} is unknown to the customer's policy, so it is not done.")
    return find(input)
