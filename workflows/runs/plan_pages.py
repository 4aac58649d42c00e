"""Pages of a waiting plan, read from the worker through the run itself.

For people who have only the `temporal` CLI, and for commands of earlier versions: a page lies in
the history twice. Newer commands ask the worker directly, with what the query `waiting` returns.
"""

from datetime import datetime

from temporalio import exceptions, workflow
from temporalio.exceptions import ActivityError, TimeoutType

from apps.parts import part_shown
from contracts import deploys
from contracts.deploys import FEATURE_DEPLOY, MOST_VIEWS, PlanView, ViewInput, WaitingPlan
from contracts.errors import BadInput, Unreachable
from contracts.names import Name, install_queue
from workflows.calls import call
from workflows.failures import failing_as_its_activity


async def read_page(install: Name, plan: WaitingPlan, page: int, seen: datetime | None) -> PlanView:
    """One page of a plan.

    Args:
        install: The install.
        plan: The plan, which waits.
        page: The page's number.
        seen: When the worker was last heard of.

    Raises:
        Unreachable: the worker is away.
    """
    asked = ViewInput(
        requires=[FEATURE_DEPLOY],
        install=install,
        component=plan.component,
        plan_key=plan.plan_key,
        page=page,
    )
    queue, summary = install_queue(install), f"the plan of {part_shown(plan.component)}"
    with failing_as_its_activity():
        try:
            # Whoever asks for a page should get it, though the run was cancelled.
            return await call(
                deploys.VIEW, asked, queue=queue, summary=summary, although_cancelled=True
            )
        except ActivityError as error:
            if not _was_never_started(error):
                raise
            raise _away(install, seen) from error


def refuse_more_pages(shown: int) -> None:
    """Refuse another page where a run has shown as many as its history may hold.

    Raises:
        BadInput: it has, and how to read the plan instead.
    """
    if shown >= MOST_VIEWS:
        raise BadInput(
            f"This run has shown {MOST_VIEWS} pages of its plans through this update, and shows no "
            "more: each page stays in its history, which would grow until it ends the run. Read "
            f"them with `exclave plan {workflow.info().workflow_id}` of a current version, which "
            "asks the install's worker directly and leaves nothing in the history."
        )


def _was_never_started(error: ActivityError) -> bool:
    why = error.cause
    return isinstance(why, exceptions.TimeoutError) and why.type == TimeoutType.SCHEDULE_TO_START


def _away(install: str, seen: datetime | None) -> Unreachable:
    last = f"; it was last heard of at {seen:%Y-%m-%d %H:%M:%S} UTC" if seen else ""
    return Unreachable(
        f"The install worker of {install} is away, or too busy to answer{last}. It keeps the "
        "plans: start it, and ask again. The deploy goes on waiting."
    )
