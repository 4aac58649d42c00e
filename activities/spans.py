"""Spans: an activity's attempt and each tool that it runs, as parts of a run's trace.

This module alone decides what spans contain: names, ids, digests and numbers. For an error that is
its type, never its message; for a tool its label and how it ended, never its arguments or output.
Input values, outputs and messages are never read for a span, so no secret can get into one.
"""

from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from contextvars import ContextVar
from typing import Any, Final, Protocol

from temporalio import activity

from activities.customer import audit_events
from activities.operations.status import ToolEnd
from contracts.installs import DESCRIBE

Value = str | int | bool

NAMED: Final = ("app", "component", "action", "step", "subject", "release")
"""The fields of an input that become attributes: names, a digest and a number, by the contract's
types. The install is not among them: the gateway adds it to each resource from the caller's
identity."""

WITHOUT_SPANS: Final = frozenset({DESCRIBE.name})
"""Activities that get no span, since they belong to no run: Install calls this one on idle workers,
which should not have to load the tracing library."""


class Span(Protocol):
    """A piece of work that takes time; the span is sent once it has ended."""

    def child(self, name: str, attributes: Mapping[str, Value]) -> "Span":
        """Begin a span within this one."""

    def end(self, outcome: str, *, failed: bool, attributes: Mapping[str, Value]) -> None:
        """End the span; `outcome` is one word."""


class Tracer(Protocol):
    """Where spans go. It must neither fail nor delay the work that they describe."""

    async def begin(self, name: str, run_id: str, attributes: Mapping[str, Value]) -> Span | None:
        """Begin a span in the trace of a workflow's run; None while that is not possible."""


_now: Final[ContextVar[Span | None]] = ContextVar("span", default=None)
"""The span of the running activity's attempt."""


@asynccontextmanager
async def attempt(tracer: Tracer | None, arguments: Sequence[Any]) -> AsyncIterator[None]:
    """Make a span for the running activity's attempt; the block is the attempt.

    Args:
        tracer: Receives the span; None means that none is made.
        arguments: The activity's arguments.
    """
    span = None
    if tracer is not None and activity.info().activity_type not in WITHOUT_SPANS:
        span = await _begun(tracer, arguments)
    if span is None:
        yield
        return
    token = _now.set(span)
    try:
        with _until_the_end(span) as found:
            yield
            found["exclave.outcome"] = audit_events.OK
    finally:
        _now.reset(token)


@contextmanager
def tool(label: str, *, attached: bool = False) -> Iterator["ToolSpan"]:
    """Make a span for a tool's run; the block is the run.

    Args:
        label: The run's label.
        attached: Whether an earlier attempt started it.
    """
    parent = _now.get()
    if parent is None:
        yield ToolSpan({})
        return
    span = parent.child(label, {"exclave.tool.attached": attached})
    with _until_the_end(span) as found:
        yield ToolSpan(found)


class ToolSpan:
    """Collects how the run of a tool ended, as far as the span says so."""

    def __init__(self, found: dict[str, Value]) -> None:
        self._found = found

    def ended(self, end: ToolEnd | None) -> None:
        """Set how the run ended; None means that the tool was never started."""
        if end is None:
            self._found["exclave.outcome"] = "not started"
            return
        good = end.succeeded()
        self._found["exclave.outcome"] = audit_events.OK if good else end.outcome
        code = end.exits.get(end.failed or "", next(reversed(end.exits.values()), None))
        if code is not None and code < 0:
            self._found["exclave.tool.signal"] = -code
        elif code is not None:
            self._found["exclave.tool.exit_code"] = code
        if not good and end.outcome == "exited":
            self._found["exclave.outcome"] = "failed"


@contextmanager
def _until_the_end(span: Span) -> Iterator[dict[str, Value]]:
    """End the span with the block; what the block puts into the dictionary becomes attributes."""
    found: dict[str, Value] = {}
    try:
        yield found
    except BaseException as error:
        found["exclave.outcome"] = audit_events.outcome_of(error)
        raise
    finally:
        outcome = str(found.pop("exclave.outcome", audit_events.OK))
        span.end(
            outcome,
            failed=outcome not in (audit_events.OK, audit_events.CANCELLED),
            attributes=found,
        )


async def _begun(tracer: Tracer, arguments: Sequence[Any]) -> Span | None:
    info = activity.info()
    # An activity without a workflow is a run by itself.
    run_id = info.workflow_run_id or info.activity_run_id or ""
    attributes: dict[str, Value] = {
        # The names that Temporal's own SDKs use.
        "temporalWorkflowID": info.workflow_id or "",
        "temporalRunID": run_id,
        "temporalActivityID": info.activity_id,
        "exclave.attempt": info.attempt,
    }
    for argument in arguments:
        for name in NAMED:
            value = getattr(argument, name, None)
            if isinstance(value, str | int):
                attributes[f"exclave.{name}"] = value
    return await tracer.begin(info.activity_type, run_id, attributes)
