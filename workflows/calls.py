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
    "it is encrypted with a key that the control plane does not have and did not get in time. None "
    "of our workers does that, unless keys are being replaced: then bring the file of keys to "
    "every process of the control side, and start the run again"
)
_AGAIN = timedelta(minutes=1)
"""How long to wait after an error that Temporal itself does not retry."""
_OF_ITS_INPUT = frozenset(one.__name__ for one in (BadInput, BadConfig, NotThere, NotUnderstood))


BOUNDED = "answers-are-bounded"
"""The patch since which a workflow refuses answers that none of our workers gives."""

_LONGEST_SUMMARY = 400
"""In bytes, the limit of Temporal's server; a longer summary makes the workflow's task fail."""


def end_if_cancelled() -> None:
    """Called before a run starts something or waits for somebody: a cancel may have been lost.

    If an awaited activity, child or signal succeeds just as the cancel arrives, the SDK (1.35)
    returns its result and never reports the cancel: the run would go on, and wait for an approval
    that nobody means to give. Only the cancellation reason remains.

    Raises:
        asyncio.CancelledError: the run was cancelled.
    """
    # In this order, a run that nobody cancels gets no marker of the patch.
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
    """Run an activity on the queue of the worker that implements it.

    On cancellation it waits until the activity has stopped: the workflow must not end while a tool
    is still working.

    Args:
        activity: The activity.
        input: Its input.
        queue: The queue of the worker that implements it.
        summary: What the Temporal UI shows.
        although_cancelled: Start it even in a run that was cancelled.

    Raises:
        ActivityError: with the typed error as its cause.
        BadAnswer: a customer's worker gave an answer that none of our workers gives.
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
    """The number of a call in its run, counted in the order in which calls begin."""
    run = workflow.instance()
    run.calls_begun = number = getattr(run, "calls_begun", 0) + 1
    return number


def _as_decided(answer: O | Unfit, number: int) -> O | Unfit:
    """An answer as the history has it, since in a replay its key may be missing, or have come.

    A marker records that the run stopped waiting for the key of this answer. With the marker, the
    answer stays unread even if its key is here now; without it, the answer was read, so a replay
    waits for the key again.
    """
    given_up = isinstance(answer, Unfit) and answer.given_up
    # In this order, a run that could read its answers gets no marker.
    if not given_up and not workflow.unsafe.is_replaying():
        return answer
    if workflow.patched(f"no-key-for-{number}"):
        return Unfit(_GIVEN_UP)
    if given_up:
        raise RuntimeError(f"The key of an answer that was read before is missing now: {answer}")
    return answer


def _fit(activity: Activity[I, O], answer: O | Unfit, *, theirs: bool) -> O:
    """The answer, if it is acceptable.

    Raises:
        BadAnswer: it is not.
    """
    if isinstance(answer, Unfit):
        raise BadAnswer(f"The install's worker answered {activity.name}, and {answer.why}.")
    why = problem_of(answer) if theirs else ""
    # In this order, a run whose worker is one of ours gets no marker of the patch.
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
    """Run an activity that works with a tool; a cancelled run ends only after the tool.

    That an activity is cancelled does not mean that its tool has stopped: if the worker died, or
    the next attempt had not started, the tool works on. So the worker is asked to stop the tool,
    however long the worker is away, and only its answer lets the run end.

    Args:
        activity: The activity.
        input: Its input.
        stop: Names the operation.
        stopping: Called when the run is cancelled, before the worker is asked.
        summary: What the Temporal UI shows.

    Raises:
        ActivityError: with the typed error as its cause.
        asyncio.CancelledError: the run was cancelled, and its tool has stopped.
    """
    if workflow.cancellation_reason() is not None:
        # As `end_if_cancelled` does, but also in runs that are older than its patch.
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
    """Wait until the tool has stopped, even if another cancel arrives meanwhile."""
    queue, summary = install_queue(stop.install), f"stop the tool of {stop.subject}"
    asked = asyncio.create_task(
        call(operations.STOP, stop, queue=queue, summary=summary, although_cancelled=True)
    )
    while not asked.done():
        with suppress(asyncio.CancelledError):
            await workflow.wait([asked])
    refused = asked.exception()
    if refused is not None:
        # An older worker cannot be asked: all that the run has is the cancelled activity.
        workflow.logger.warning("%s was not stopped: %s", stop.key, in_words(refused))


def without_local_activities() -> bool:
    """Whether this run makes no local activities, as older runs do; asked when the run begins."""
    return workflow.patched("no-local-activities")


async def call_control(
    activity: Activity[I, O],
    input: I,
    *,
    local: bool,
    retry: RetryPolicy | None = None,
    summary: str = "",
) -> O:
    """Run a short activity of the control worker, one without side effects.

    Never as a local activity: if an update arrives while one ends, the SDK (1.35) records its
    result in one workflow task and delivers it in the next, but a replay delivers it in the first.
    Such a history no longer replays, and the workflow is stuck once it is evicted from memory. With
    several clients on a busy machine this happened to about one in twenty runs of Access.

    Args:
        activity: The activity.
        input: Its input.
        local: Use a local activity all the same, as older histories do.
        retry: Overrides the activity's own retry policy.
        summary: What the Temporal UI shows.

    Raises:
        FailureError: the activity's own error, not wrapped in an ActivityError.
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
    """As older histories have it."""
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
    """Run an entity's activity until it succeeds: only an error in its own input ends an entity.

    Args:
        begin: Starts the activity; called for each attempt.

    Raises:
        ExclaveError: the input that the entity was started with is wrong.
        asyncio.CancelledError: the entity was cancelled.
    """
    while True:
        try:
            with failing_as_its_activity():
                return await begin()
        except FailureError as error:
            is_of_its_input = isinstance(error, ApplicationError) and error.type in _OF_ITS_INPUT
            # The patch comes last, so that an entity without errors gets no marker of it.
            if (
                is_of_its_input
                or workflow.cancellation_reason() is not None
                or not workflow.patched("entities-go-on")
            ):
                raise
            workflow.logger.error("Trying again in %s: %s", _AGAIN, in_words(error))
        await asyncio.sleep(_AGAIN.total_seconds())
