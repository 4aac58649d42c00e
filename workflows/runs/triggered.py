"""Actions that belong to a run: what the release wants to be run before, after, or at a time."""

from collections.abc import Sequence
from dataclasses import dataclass

from temporalio import workflow
from temporalio.exceptions import ChildWorkflowError, WorkflowAlreadyStartedError
from temporalio.workflow import ParentClosePolicy

from apps.display_text import shown_markdown
from contracts import schedules
from contracts.actions import ActionInput
from contracts.deploys import TriggeredAction
from contracts.errors import ActionFailed
from contracts.names import CONTROL_QUEUE, ID_LIMIT, Digest, Name, digits_of
from contracts.schedules import CronAction, SetSchedules
from workflows.calls import call, end_if_cancelled
from workflows.failures import typed_cause
from workflows.search_attributes import shown_from_the_start


@dataclass(frozen=True)
class TriggeredActions:
    """The actions that one run starts by itself."""

    install: Name
    app: Name
    release: Digest | None
    """The release of those that name none."""
    actions: Sequence[TriggeredAction]

    async def run(self, trigger: str, component: str | None = None) -> None:
        """Run those of a trigger, one after another, each as a workflow of its own.

        Args:
            trigger: As the app config names it.
            component: For a trigger that belongs to a component: its name.

        Raises:
            ActionFailed: one failed; those after it are not begun.
        """
        for one in self.actions:
            if (one.trigger, one.component) == (trigger, component):
                await self._run(one)

    async def _run(self, one: TriggeredAction) -> None:
        end_if_cancelled()
        why = " of ".join(part for part in (one.trigger, one.component) if part)
        try:
            await workflow.execute_child_workflow(
                "Action",
                ActionInput(
                    install=self.install,
                    action=one.action,
                    release=one.release or self.release,
                    trigger=one.trigger,
                ),
                id=self._workflow_id(one),
                # A cancel of the run that it belongs to reaches it; where that is ended otherwise,
                # a script is not interrupted in the middle.
                parent_close_policy=ParentClosePolicy.ABANDON,
                static_summary=f"{one.action} on {self.install}: {shown_markdown(why)}",
                search_attributes=shown_from_the_start(
                    app=self.app, install=self.install, component=one.action, status="running"
                ),
            )
        except (ChildWorkflowError, WorkflowAlreadyStartedError) as error:
            if workflow.cancellation_reason() is not None:
                raise
            cause = typed_cause(error)
            said = f"{cause.type}: {cause.message}" if cause else str(error)
            raise ActionFailed(f"the action {one.action} ({why}) failed: {said}") from error

    def _workflow_id(self, one: TriggeredAction) -> str:
        """Names the run that it belongs to, and is new for each."""
        info = workflow.info()
        kind, _, name = info.workflow_id.partition(f"/{self.install}/")
        run = f"{kind}-{name.replace('/', '-')}-{info.first_execution_run_id[:8]}"
        named = (run, one.trigger, one.component)
        rest = "/".join(part for part in named if part)
        workflow_id = f"action/{self.install}/{one.action}/{rest}"
        if len(workflow_id) > ID_LIMIT and workflow.patched("ids-that-fit"):
            return f"action/{self.install}/{one.action}/{digits_of(rest)}"
        return workflow_id


async def set_schedules(
    install: Name,
    app: Name,
    actions: Sequence[TriggeredAction],
    known: list[str],
    release: Digest | None = None,
) -> list[str] | None:
    """Have exactly the release's actions run by the clock that it has so; without one, none.

    Args:
        install: The install.
        app: Its app.
        actions: What the worker says of the release: nothing is asked where none were and none are.
        known: The ids of the schedules that there are.
        release: The release, which is read on the control side.

    Returns:
        The ids of the schedules that the install has now; None if nothing was changed.
    """
    crons = [
        CronAction(action=one.action, cron=one.cron)
        for one in actions
        if one.trigger == "cron" and one.cron
    ]
    if not crons and not known:
        return None
    made = await call(
        schedules.SET_SCHEDULES,
        SetSchedules(install=install, app=app, actions=crons, known=known, release=release),
        queue=CONTROL_QUEUE,
        summary="set the schedules of actions" if crons else "remove the schedules of actions",
    )
    return made.schedules
