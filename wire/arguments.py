"""One model in, one model out: a workflow or update with no input, or with two, fails at once.

The SDK would call the function with whatever arrived, and the TypeError would suspend the workflow.
So would input that was never JSON (null and bytes have encodings of their own, which bypass the
models). A signal that is not a message is dropped and logged, since nobody waits for its answer.
"""

from typing import Any

from pydantic import BaseModel
from temporalio import workflow
from temporalio.worker import (
    ExecuteWorkflowInput,
    HandleSignalInput,
    HandleUpdateInput,
    Interceptor,
    WorkflowInboundInterceptor,
    WorkflowInterceptorClassInput,
)

from contracts.errors import BadInput


class ArgumentCount(Interceptor):
    """Refuses workflows and updates whose input is not exactly one model."""

    def workflow_interceptor_class(
        self, input: WorkflowInterceptorClassInput
    ) -> type[WorkflowInboundInterceptor]:
        """The interceptor that runs inside each workflow."""
        return _OneArgument


class _OneArgument(WorkflowInboundInterceptor):
    async def execute_workflow(self, input: ExecuteWorkflowInput) -> Any:
        if not _is_raw(input.args):
            _refuse_other_than_one("workflow", input.args)
        return await super().execute_workflow(input)

    async def handle_signal(self, input: HandleSignalInput) -> None:
        if not _is_one_model(input.args):
            workflow.logger.warning("The signal %s is not a message; dropped.", input.signal)
            return
        await super().handle_signal(input)

    def handle_update_validator(self, input: HandleUpdateInput) -> None:
        _refuse_other_than_one(f"update `{input.update}`", input.args)
        super().handle_update_validator(input)

    async def handle_update_handler(self, input: HandleUpdateInput) -> Any:
        _refuse_other_than_one(f"update `{input.update}`", input.args)
        return await super().handle_update_handler(input)


def _is_raw(args: Any) -> bool:
    """Whether this is the input of the workflow for unknown types: one list of raw values."""
    return len(args) == 1 and isinstance(args[0], list)


def _is_one_model(args: Any) -> bool:
    return len(args) == 1 and isinstance(args[0], BaseModel)


def _refuse_other_than_one(what: str, args: Any) -> None:
    if len(args) != 1:
        raise BadInput(
            f"This {what} takes exactly one input, a JSON object; {len(args)} were given."
        )
    if not _is_one_model(args):
        raise BadInput(f"This {what} takes a JSON object; what was given is not JSON.")
