"""Actions that a release ties to its runs (before or after something) or to the clock."""

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
    """The actions that one run starts because of their triggers."""

    install: Name
    app: Name
    release: Digest | None
    """The release of the actions that name none."""
    actions: Sequence[TriggeredAction]

    async def run(self, trigger: str, component: str | None = None) -> None:
        """Run the actions of a trigger one after another, each as a workflow of its own.

        Args:
            trigger: The trigger, as the app config names it.
            component: The component, if the trigger belongs to one.

        Raises:
            ActionFailed: an action failed; the ones after it are not started.
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
                # A cancel of its run reaches the action; if the run ends in another way, the
                # action's script is not interrupted.
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
            message = f"{cause.type}: {cause.message}" if cause else str(error)
            raise ActionFailed(f"the action {one.action} ({why}) failed: {message}") from error

    def _workflow_id(self, one: TriggeredAction) -> str:
        """An id that names the action's run, and is different for each run."""
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
    """Make the install's schedules those that the release wants; with no actions, remove them all.

    Args:
        install: The install.
        app: Its app.
        actions: The release's actions as the worker reports them. If neither they nor `known` have
            a schedule, nothing is called.
        known: The ids of the existing schedules.
        release: The release, which is read on the control side.

    Returns:
        The ids of the install's schedules now; None if nothing was changed.
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
