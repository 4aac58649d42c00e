"""What a plan is bound to apart from its changes: the release, and the values rendered from it.

Two releases may plan the same changes and still do different things, since a provisioner's script,
for example, is not in the plan. So an approval counts for one release's plan only, and only for the
values rendered then. These are kept as keyed digests, since a plain hash of a short secret could be
guessed. The worker's own environment is not included, since another machine may apply the plan.
"""

import hashlib
import hmac
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from activities.plans.plan_store import PlanRecord
from contracts.errors import StalePlan
from contracts.messages import OperationInput

OLDER = "it was made by an older worker, which did not record what it was made from"


@dataclass(frozen=True)
class RenderedDigests:
    """Keyed digests of a part's rendered templates."""

    variables: str
    """The digest of its variables and variable files."""
    environment: str
    """The digest of the environment variables that the app config sets."""

    @staticmethod
    def of(
        key: bytes,
        part: str,
        variables: object,
        files: Sequence[str],
        environment: Mapping[str, str],
    ) -> "RenderedDigests":
        """The digests of rendered values, with the store's key.

        Args:
            key: The key of plan digests.
            part: The component, or the sandbox.
            variables: The variables that the tool gets, in a form that JSON can hold.
            files: The rendered variable files, in order.
            environment: The rendered environment variables that the app config sets.
        """
        return RenderedDigests(
            variables=_keyed(key, ["variables", part, variables, list(files)]),
            environment=_keyed(key, ["environment", part, dict(environment)]),
        )


def require_release(record: PlanRecord, input: OperationInput) -> None:
    """Refuse a plan that was made from another release; an older worker's record names none.

    Raises:
        StalePlan: the releases or apps differ; the message names both.
    """
    if record.release and record.release != input.release:
        raise StalePlan(f"it was made from release {record.release}, not from {input.release}")
    if record.app and record.app != input.app:
        raise StalePlan(f"it was made for the app {record.app}, not for {input.app}")


def require_noted(record: PlanRecord) -> None:
    """Refuse a plan whose record does not say what the plan was made from.

    Raises:
        StalePlan: an older worker made it.
    """
    if not all((record.app, record.release, record.artifact)):
        raise StalePlan(OLDER)
    if not all((record.variables, record.environment)):
        raise StalePlan(OLDER)


def require_bound(record: PlanRecord, artifact: str, rendered: RenderedDigests) -> None:
    """Refuse a plan that was made from other files or values than the current ones.

    Raises:
        StalePlan: they differ; the message says which, but contains no value.
    """
    require_noted(record)
    if record.artifact != artifact:
        raise StalePlan("it was made from other files than the release's")
    if not hmac.compare_digest(record.variables, rendered.variables):
        raise StalePlan("the values of its variables have changed since it was planned")
    if not hmac.compare_digest(record.environment, rendered.environment):
        raise StalePlan("the environment that the app config sets has changed since")


def _keyed(key: bytes, content: list[object]) -> str:
    canonical = json.dumps(content, sort_keys=True, separators=(",", ":")).encode()
    return "sha256:" + hmac.new(key, canonical, hashlib.sha256).hexdigest()
