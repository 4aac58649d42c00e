"""Failures of activities and children: put into words, cut to length, and raised by a workflow."""

from collections.abc import Iterator
from contextlib import contextmanager

from temporalio.exceptions import ActivityError, ApplicationError, ChildWorkflowError

from contracts.errors import BadAnswer, by_type

LONGEST_FAILURE = 16_000
"""In characters, of a run's failure: it is kept in histories, and Install keeps the newest one."""
_LARGEST_FAILURE_BYTES = 256 * 1024
_LONGEST_TYPE = 100


@contextmanager
def failing_as_its_activity() -> Iterator[None]:
    """Fail the workflow with the activity's own typed error, instead of "Activity task failed"."""
    try:
        yield
    except ActivityError as error:
        typed = typed_cause(error)
        if error.failure is not None and error.failure.ByteSize() > _LARGEST_FAILURE_BYTES:
            # With its causes and details it may be more than a run can end with.
            raise BadAnswer(cut(in_words(error), LONGEST_FAILURE)) from None
        if typed is None or typed.type is None:
            raise
        raise by_type(typed.type)(cut(typed.message, LONGEST_FAILURE)) from error


def typed_cause(error: BaseException) -> ApplicationError | None:
    """The typed error that an activity or child failed with; None if it ended in another way."""
    cause = error.cause if isinstance(error, ActivityError | ChildWorkflowError) else error
    return cause if isinstance(cause, ApplicationError) else None


def in_words(error: BaseException) -> str:
    """An error as people read it: its type and its message."""
    typed = typed_cause(error)
    if typed is not None:
        return f"{cut(typed.type or '', _LONGEST_TYPE)}: {cut(typed.message, LONGEST_FAILURE)}"
    cause = error.cause if isinstance(error, ActivityError) and error.cause else error
    return f"{type(cause).__name__}: {cause}"


def cut(text: str, longest: int) -> str:
    """A text cut to a length: keeps a bit of the beginning and most of the end, which says most."""
    if len(text) <= longest:
        return text
    begin = longest // 4
    return f"{text[:begin]} […] {text[len(text) - (longest - begin - 5) :]}"


def cut_bytes(text: str, longest: int) -> str:
    """The beginning of a text, at most that many bytes of it."""
    return text.encode()[:longest].decode(errors="ignore")
