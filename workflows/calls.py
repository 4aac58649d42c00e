"""How a workflow calls an activity: by its declaration in the contract, typed both ways."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from datetime import timedelta
from typing import TypeVar, cast

from pydantic import BaseModel
from temporalio import workflow
from temporalio.common import RetryPolicy
from temporalio.exceptions import ActivityError, ApplicationError, FailureError
from temporalio.workflow import ActivityCancellationType

from contracts import operations
from contracts.activities import Activity
from contracts.answers import AnswerTo, Unfit, problem_of
from contracts.errors import BadAnswer, BadConfig, BadInput, NotThere, NotUnderstood
from contracts.names import BUILD_QUEUE, CONTROL_QUEUE, install_queue
from contracts.operations import StopInput
from workflows.failures import cut_bytes, failing_as_its_activity, in_words, typed_cause

R = TypeVar("R")
I = TypeVar("I", bound=BaseModel)  # noqa: E741 - as in the declaration
O = TypeVar("O", bound=BaseModel)  # noqa: E741

_GIVEN_UP = (
    "it is encrypted with a key that the control plane does not have, and that did not come. No "
    "worker of ours does that, unless keys are being replaced: then bring the file of the keys to "
    "every process of the control side, and begin the run anew"
)
_AGAIN = timedelta(minutes=1)
"""After an error that Temporal itself does not try again."""
_OF_ITS_INPUT = frozenset(one.__name__ for one in (BadInput, BadConfig, NotThere, NotUnderstood))


BOUNDED = "answers-are-bounded"
"""The patch since which a workflow refuses what no worker of ours answers."""

_LONGEST_SUMMARY = 400
"""In bytes, as Temporal's server takes it; one that is longer has the workflow's task fail."""


def end_if_cancelled() -> None:
    """Asked before a run begins something, or waits for somebody: a cancel may have been lost.

    What ends well just as the cancel comes gives its result, and the cancel is told no more (SDK
    1.35: activities, children and signals that are waited for alike). The run would go on, and wait
    for an approval that nobody means to give. Only the reason stays.

    Raises:
        asyncio.CancelledError: the run was cancelled.
    """
    # Asked in this order: a run that nobody cancels has no marker of the patch.
    if workflow.cancellation_reason() is not None and workflow.patched("a-cancel-is-kept"):
        raise asyncio.CancelledError


async def call(
    activity: Activity[I, O],
    input: I,
    *,
    queue: str,
    summary: str = "",
    although_cancelled: bool = False,
) -> O:
    """Run an activity on the queue of whoever implements it.

    On cancellation it waits until the activity has stopped: the workflow must not say that it ended
    while a tool still works.

    Args:
        activity: The activity.
        input: Its input.
        queue: The queue of whoever implements it.
        summary: What the Temporal UI shows.
        although_cancelled: Begin it in a run that was cancelled, too.

    Raises:
        ActivityError: with the typed error as its cause.
        BadAnswer: a customer's worker answered what no worker of ours answers.
        asyncio.CancelledError: the run was cancelled before.
    """
    if not although_cancelled:
        end_if_cancelled()
    theirs = queue not in (CONTROL_QUEUE, BUILD_QUEUE)
    number = _numbered()
    answer: O | Unfit = await workflow.execute_activity(
        activity.name,
        input,
        result_type=cast(type, AnswerTo(activity.result)) if theirs else activity.result,
        task_queue=queue,
        start_to_close_timeout=activity.start_to_close,
        schedule_to_start_timeout=activity.schedule_to_start,
        heartbeat_timeout=activity.heartbeat,
        retry_policy=activity.retry,
        cancellation_type=ActivityCancellationType.WAIT_CANCELLATION_COMPLETED,
        summary=cut_bytes(summary or activity.name, _LONGEST_SUMMARY),
    )
    return _fit(activity, _as_decided(answer, number) if theirs else answer, theirs=theirs)


def _numbered() -> int:
    """A call's number in its run, in the order in which they begin."""
    run = workflow.instance()
    run.calls_begun = number = getattr(run, "calls_begun", 0) + 1
    return number


def _as_decided(answer: O | Unfit, number: int) -> O | Unfit:
    """An answer as the history has it: whether its key is here may be otherwise in a replay.

    A marker says of which answer the key was given up. With it the answer stays unread for good,
    though its key is here now; without it, it was read, and waits for the key again.
    """
    given_up = isinstance(answer, Unfit) and answer.given_up
    # Asked in this order: a run that could read its answers has no marker.
    if not given_up and not workflow.unsafe.is_replaying():
        return answer
    if workflow.patched(f"no-key-for-{number}"):
        return Unfit(_GIVEN_UP)
    if given_up:
        raise RuntimeError(f"The key of an answer that was read before is not here: {answer}")
    return answer


def _fit(activity: Activity[I, O], answer: O | Unfit, *, theirs: bool) -> O:
    """An answer that may be taken.

    Raises:
        BadAnswer: it may not.
    """
    if isinstance(answer, Unfit):
        raise BadAnswer(f"The install's worker answered {activity.name}, and {answer.why}.")
    why = problem_of(answer) if theirs else ""
    # Asked in this order: a run whose worker is one of ours has no marker of the patch.
    if why and workflow.patched(BOUNDED):
        raise BadAnswer(f"The install's worker answered {activity.name}, and {why}.")
    return answer


async def call_operation(
    activity: Activity[I, O],
    input: I,
    *,
    stop: StopInput,
    stopping: Callable[[], None],
    summary: str = "",
) -> O:
    """Run an activity that works with a tool; a run that is cancelled ends after the tool.

    A cancelled activity says nothing of its tool: where the worker died, or the next attempt had
    not begun, the tool goes on without it. So the worker is asked to stop it, however long it is
    away, and only its answer lets the run end.

    Args:
        activity: The activity.
        input: Its input.
        stop: Names the operation.
        stopping: Called when the run is cancelled, before the worker is asked.
        summary: What the Temporal UI shows.

    Raises:
        ActivityError: with the typed error as its cause.
        asyncio.CancelledError: the run was cancelled, and no tool is left.
    """
    if workflow.cancellation_reason() is not None:
        # As `end_if_cancelled`, and in runs from before it.
        raise asyncio.CancelledError
    try:
        return await call(activity, input, queue=install_queue(stop.install), summary=summary)
    except ActivityError as error:
        if workflow.cancellation_reason() is None:
            raise
        stopping()
        await _stop(stop)
        raise asyncio.CancelledError from error


async def _stop(stop: StopInput) -> None:
    """Ask until it is done; a cancel that is still on its way does not end the wait."""
    queue, summary = install_queue(stop.install), f"stop the tool of {stop.subject}"
    asked = asyncio.create_task(
        call(operations.STOP, stop, queue=queue, summary=summary, although_cancelled=True)
    )
    while not asked.done():
        with suppress(asyncio.CancelledError):
            await workflow.wait([asked])
    refused = asked.exception()
    if refused is not None:
        # A worker of a version before this one: the run can only believe the cancelled activity.
        workflow.logger.warning("%s was not stopped: %s", stop.key, in_words(refused))


def without_local_activities() -> bool:
    """Whether this run may use `call_control` as it is today; asked where the run begins."""
    return workflow.patched("no-local-activities")


async def call_control(
    activity: Activity[I, O],
    input: I,
    *,
    local: bool,
    retry: RetryPolicy | None = None,
    summary: str = "",
) -> O:
    """Run a short activity of the control worker, which has no side effects.

    Never as a local activity: where an update arrives while one ends, the SDK (1.35) notes its
    result in one workflow task and hands it over in the next, but in a replay in the first. The
    history then replays no more, and the workflow is stuck as soon as it is not in memory. Some one
    in twenty runs of Access had such a task, with several clients on a busy machine.

    Args:
        activity: The activity.
        input: Its input.
        local: Do so all the same, as the histories have it that began so.
        retry: Instead of its own policy.
        summary: What the Temporal UI shows.

    Raises:
        FailureError: what it ended with, as it is, not in an ActivityError.
    """
    if local:
        return await _call_local(activity, input, retry=retry, summary=summary)
    try:
        result: O = await workflow.execute_activity(
            activity.name,
            input,
            result_type=activity.result,
            task_queue=CONTROL_QUEUE,
            start_to_close_timeout=activity.start_to_close,
            retry_policy=retry or activity.retry,
            summary=summary or activity.name,
        )
    except ActivityError as error:
        typed = typed_cause(error)
        if typed is None:
            raise
        raise typed from error
    return result


async def _call_local(
    activity: Activity[I, O], input: I, *, retry: RetryPolicy | None, summary: str
) -> O:
    """As histories from before have it."""
    result: O = await workflow.execute_local_activity(
        activity.name,
        input,
        result_type=activity.result,
        start_to_close_timeout=activity.start_to_close,
        retry_policy=retry or activity.retry,
        local_retry_threshold=timedelta(seconds=5),
        summary=summary or activity.name,
    )
    return result


async def until_it_is_done(begin: Callable[[], Awaitable[R]]) -> R:
    """Have an entity's activity done, again and again if it must be: nobody's error ends an entity.

    Args:
        begin: Begins it anew.

    Raises:
        ExclaveError: what the entity was started with is wrong, so that it is of no use.
        asyncio.CancelledError: it was cancelled.
    """
    while True:
        try:
            with failing_as_its_activity():
                return await begin()
        except FailureError as error:
            is_of_its_input = isinstance(error, ApplicationError) and error.type in _OF_ITS_INPUT
            # Asked last: an entity that nothing goes wrong in has no marker of the patch.
            if (
                is_of_its_input
                or workflow.cancellation_reason() is not None
                or not workflow.patched("entities-go-on")
            ):
                raise
            workflow.logger.error("Tried again in %s: %s", _AGAIN, in_words(error))
        await asyncio.sleep(_AGAIN.total_seconds())
