"""What a workflow type that does not exist runs as: it fails at once and says which there are."""

from collections.abc import Sequence

from temporalio import workflow
from temporalio.common import RawValue

from contracts.errors import BadInput


@workflow.defn(dynamic=True)
class Unknown:
    """Without it, a misspelt type would wait for ever for a worker that knows it."""

    @workflow.run
    async def run(self, args: Sequence[RawValue]) -> None:
        """Fail with what is known."""
        raise BadInput(
            f"There is no workflow type {workflow.info().workflow_type!r}. "
            "There are: Build, Install, Deploy, Action."
        )
