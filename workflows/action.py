"""Action: the steps of one action in order, each once; the first that fails ends the run."""

from datetime import timedelta

from temporalio import workflow

from apps.display_text import shown_markdown
from contracts import actions
from contracts.actions import (
    FEATURE_ACTION,
    ActionInput,
    ActionResult,
    ActionScope,
    ScopeAction,
    StepInput,
    StepResult,
)
from contracts.answers import ANSWERS_BYTES
from contracts.errors import BadAnswer, EngineFailed
from contracts.names import action_subject, install_queue
from contracts.operations import FEATURE_STOP, StopInput
from workflows.calls import BOUNDED, call, call_operation
from workflows.failures import failing_as_its_activity
from workflows.search_attributes import APP, require_id, show, showing_its_end


@workflow.defn(name="Action")
class Action:
    """Runs without a turn, since an action changes nothing that deploys decide about."""

    @workflow.run
    async def run(self, input: ActionInput) -> ActionResult:
        """Run the action's steps."""
        require_id("action", input.install, f"{input.action}/…")
        show(
            install=input.install,
            release=input.release,
            component=input.action,
            status="running",
        )
        with showing_its_end(), failing_as_its_activity():
            return await self._run(input)

    async def _run(self, input: ActionInput) -> ActionResult:
        workflow.set_current_details(f"{input.action}: reading its steps")
        scope = await call(
            actions.SCOPE,
            ScopeAction(
                requires=[FEATURE_ACTION],
                install=input.install,
                action=input.action,
                release=input.release,
            ),
            queue=install_queue(input.install),
            summary=f"the steps of {input.action}",
        )
        known = workflow.info().typed_search_attributes.get(APP)
        if known not in (None, scope.app) and workflow.patched(BOUNDED):
            raise BadAnswer(
                f"The install's worker says that {input.action} belongs to the app {scope.app}, "
                f"but the install belongs to {known}."
            )
        show(app=scope.app, release=scope.release)
        steps = await self._steps(input, scope)
        show(status="done")
        return ActionResult(
            install=input.install, action=input.action, release=scope.release, steps=steps
        )

    async def _steps(self, input: ActionInput, scope: ActionScope) -> list[StepResult]:
        results: list[StepResult] = []
        size = 0
        deadline = workflow.now() + timedelta(seconds=scope.timeout_seconds)
        state_revision = scope.state_revision
        for index, name in enumerate(scope.steps):
            left = (deadline - workflow.now()).total_seconds()
            if left <= 0:
                raise EngineFailed(
                    f"The action {input.action} ran out of its {scope.timeout_seconds:.0f} s "
                    f"before step {name!r}. Raise `timeout` in the action, or do less in it."
                )
            workflow.set_current_details(
                f"{input.action}: step {index + 1} of {len(scope.steps)}, "
                f"**{shown_markdown(name)}**"
            )
            step = self._step(input, scope, index, left, state_revision)
            result = await call_operation(
                actions.STEP,
                step,
                stop=StopInput(
                    requires=[FEATURE_STOP],
                    install=input.install,
                    subject=action_subject(input.action),
                    key=step.key,
                ),
                stopping=_show_stopping,
                summary=f"{input.action}: {shown_markdown(name)}",
            )
            state_revision = max(state_revision, result.state_revision)
            results.append(result)
            size += len(result.model_dump_json().encode())
            if size > ANSWERS_BYTES and workflow.patched(BOUNDED):
                raise BadAnswer(
                    f"The outputs of {input.action} exceed {ANSWERS_BYTES} bytes, the limit for "
                    "all steps of an action together."
                )
        return results

    def _step(
        self, input: ActionInput, scope: ActionScope, index: int, left: float, state_revision: int
    ) -> StepInput:
        first_run = workflow.info().first_execution_run_id
        return StepInput(
            requires=[FEATURE_ACTION],
            install=input.install,
            app=scope.app,
            release=scope.release,
            action=input.action,
            step=index,
            key=f"{first_run}/{input.action}/step/{index}",
            timeout_seconds=left,
            trigger=input.trigger,
            state_revision=state_revision,
        )


def _show_stopping() -> None:
    show(status="cancelling")
    workflow.set_current_details(
        "**Cancelled**: waits for the install worker to say that the step has stopped."
    )
