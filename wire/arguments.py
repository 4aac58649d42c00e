"""One model in, one model out: a workflow or update with no input, or with two, fails at once.

The SDK would call the function with what came, and the TypeError would suspend the workflow.
"""

from typing import Any

from temporalio.worker import (
    ExecuteWorkflowInput,
    HandleUpdateInput,
    Interceptor,
    WorkflowInboundInterceptor,
    WorkflowInterceptorClassInput,
)

from contracts.errors import BadInput


class ArgumentCount(Interceptor):
    """Refuses workflows and updates that were not given exactly one argument."""

    def workflow_interceptor_class(
        self, input: WorkflowInterceptorClassInput
    ) -> type[WorkflowInboundInterceptor]:
        """The interceptor that runs inside each workflow."""
        return _OneArgument


class _OneArgument(WorkflowInboundInterceptor):
    async def execute_workflow(self, input: ExecuteWorkflowInput) -> Any:
        _refuse_other_than_one("workflow", input.args)
        return await super().execute_workflow(input)

    def handle_update_validator(self, input: HandleUpdateInput) -> None:
        _refuse_other_than_one(f"update `{input.update}`", input.args)
        super().handle_update_validator(input)

    async def handle_update_handler(self, input: HandleUpdateInput) -> Any:
        _refuse_other_than_one(f"update `{input.update}`", input.args)
        return await super().handle_update_handler(input)


def _refuse_other_than_one(what: str, args: Any) -> None:
    if len(args) != 1:
        raise BadInput(
            f"This {what} takes exactly one input, a JSON object; {len(args)} were given."
        )
