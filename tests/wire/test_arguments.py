"""One model in, one model out."""

from typing import Any

import pytest
from temporalio.worker import (
    ExecuteWorkflowInput,
    HandleUpdateInput,
    WorkflowInboundInterceptor,
    WorkflowInterceptorClassInput,
)

from contracts.errors import BadInput
from contracts.installs import DeployRequest
from wire.arguments import ArgumentCount

GOOD = DeployRequest(release="sha256:" + "1" * 64)


class Innermost(WorkflowInboundInterceptor):
    def __init__(self) -> None:
        self.reached: list[str] = []

    async def execute_workflow(self, input: ExecuteWorkflowInput) -> Any:
        self.reached.append("workflow")
        return "done"

    def handle_update_validator(self, input: HandleUpdateInput) -> None:
        self.reached.append("validator")

    async def handle_update_handler(self, input: HandleUpdateInput) -> Any:
        self.reached.append("handler")
        return "done"


@pytest.fixture
def innermost() -> Innermost:
    return Innermost()


@pytest.fixture
def inbound(innermost: Innermost) -> WorkflowInboundInterceptor:
    kind = ArgumentCount().workflow_interceptor_class(
        WorkflowInterceptorClassInput(unsafe_extern_functions={})
    )
    return kind(innermost)


def workflow(*args: Any) -> ExecuteWorkflowInput:
    return ExecuteWorkflowInput(type=object, run_fn=_run, args=args, headers={})


async def _run(self: object) -> None:
    raise AssertionError("never run here")


def update(*args: Any) -> HandleUpdateInput:
    return HandleUpdateInput(id="1", update="deploy", args=args, headers={})


async def test_exactly_one_passes(
    inbound: WorkflowInboundInterceptor, innermost: Innermost
) -> None:
    assert await inbound.execute_workflow(workflow(GOOD)) == "done"
    inbound.handle_update_validator(update(GOOD))
    assert await inbound.handle_update_handler(update(GOOD)) == "done"
    assert innermost.reached == ["workflow", "validator", "handler"]


@pytest.mark.parametrize("args", [(), (GOOD, GOOD), (GOOD, None, GOOD)])
async def test_any_other_number_is_refused_and_reported(
    inbound: WorkflowInboundInterceptor, innermost: Innermost, args: tuple[Any, ...]
) -> None:
    with pytest.raises(BadInput, match=rf"This workflow .* {len(args)} were given"):
        await inbound.execute_workflow(workflow(*args))
    with pytest.raises(BadInput, match=rf"This update `deploy` .* {len(args)} were given"):
        inbound.handle_update_validator(update(*args))
    with pytest.raises(BadInput, match=rf"This update `deploy` .* {len(args)} were given"):
        await inbound.handle_update_handler(update(*args))
    assert innermost.reached == []


@pytest.mark.parametrize("arg", [None, b"{}"])
async def test_what_was_never_json_is_refused(
    inbound: WorkflowInboundInterceptor, innermost: Innermost, arg: Any
) -> None:
    """Payloads of other encodings are decoded without any model."""
    with pytest.raises(BadInput, match="a JSON object"):
        await inbound.execute_workflow(workflow(arg))
    with pytest.raises(BadInput, match="a JSON object"):
        inbound.handle_update_validator(update(arg))
    assert innermost.reached == []
