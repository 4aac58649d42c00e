"""Runs in place of a workflow type that does not exist: fails at once, and names those that do."""

from collections.abc import Sequence
from typing import Final

from temporalio import workflow
from temporalio.common import RawValue

from contracts.errors import BadInput

WORKFLOW_TYPES: Final = (
    "Build", "Install", "Provision", "Deploy", "Deprovision", "Action", "Access",
)  # fmt: skip


@workflow.defn(dynamic=True)
class Unknown:
    """Without it, a run of a misspelt type would wait forever for a worker that knows the type."""

    @workflow.run
    async def run(self, args: Sequence[RawValue]) -> None:
        """Fail, naming the known types."""
        raise BadInput(
            f"There is no workflow type {workflow.info().workflow_type!r}. "
            f"There are: {', '.join(WORKFLOW_TYPES)}."
        )
