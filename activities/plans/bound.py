"""What a plan is bound to besides what it would do: the release, and what was rendered from it.

Two releases may plan the same changes and do other things: a provisioner's script is in no plan.
So an approval is of one release's plan. It is of the values rendered then, too, as keyed digests:
a plain hash of a short secret could be guessed. The worker's own environment is not among them,
since another machine may apply.
"""

import hashlib
import hmac
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from activities.plans.plan_store import PlanRecord
from contracts.errors import StalePlan
from contracts.messages import OperationInput

OLDER = "it was made by an older worker, which did not note what it was made of"


@dataclass(frozen=True)
class RenderedDigests:
    """Keyed digests of what a part's templates came to."""

    variables: str
    """Of its variables and variable files."""
    environment: str
    """Of the environment variables that the app config sets."""

    @staticmethod
    def of(
        key: bytes,
        part: str,
        variables: object,
        files: Sequence[str],
        environment: Mapping[str, str],
    ) -> "RenderedDigests":
        """The digests of values, with the store's key.

        Args:
            key: The key of plan digests.
            part: The component, or the sandbox.
            variables: As the tool is given them; JSON can hold them.
            files: The variable files, rendered, in their order.
            environment: What the app config sets, rendered.
        """
        return RenderedDigests(
            variables=_keyed(key, ["variables", part, variables, list(files)]),
            environment=_keyed(key, ["environment", part, dict(environment)]),
        )


def require_release(record: PlanRecord, input: OperationInput) -> None:
    """Refuse to do with one release what was planned of another; a record of an older worker names
    none.

    Raises:
        StalePlan: naming both.
    """
    if record.release and record.release != input.release:
        raise StalePlan(f"it was made of release {record.release}, and not of {input.release}")
    if record.app and record.app != input.app:
        raise StalePlan(f"it was made for the app {record.app}, and not for {input.app}")


def require_noted(record: PlanRecord) -> None:
    """Refuse a plan whose record does not say what it was made of: nobody knows what else it is.

    Raises:
        StalePlan: an older worker made it.
    """
    if not all((record.app, record.release, record.artifact)):
        raise StalePlan(OLDER)
    if not all((record.variables, record.environment)):
        raise StalePlan(OLDER)


def require_bound(record: PlanRecord, artifact: str, rendered: RenderedDigests) -> None:
    """Refuse a plan that was made of other files or values than there are now.

    Raises:
        StalePlan: saying which, and no value.
    """
    require_noted(record)
    if record.artifact != artifact:
        raise StalePlan("it was made of other files than the release's")
    if not hmac.compare_digest(record.variables, rendered.variables):
        raise StalePlan("the values of its variables have changed since it was planned")
    if not hmac.compare_digest(record.environment, rendered.environment):
        raise StalePlan("what the app config sets in its environment has changed since")


def _keyed(key: bytes, content: list[object]) -> str:
    canonical = json.dumps(content, sort_keys=True, separators=(",", ":")).encode()
    return "sha256:" + hmac.new(key, canonical, hashlib.sha256).hexdigest()
