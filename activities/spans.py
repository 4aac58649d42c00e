"""Spans: an activity's attempt, and each tool that it runs, as parts of the trace of a run.

What they tell is decided here alone, and it is names, ids, digests and numbers. Of an error it is
the type, never the words; of a tool its label and its end, never what it was called with or
printed. An input's values, outputs and messages are nowhere read for a span, so nothing secret gets
into one.
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
"""What of an input is told: names, a digest and a number, by the contract's types. Whose install it
is stands in each resource: the gateway writes it there, and takes nobody's word for it."""

UNTOLD: Final = frozenset({DESCRIBE.name})
"""Of no run: Install asks it of workers that stand idle, which do without what makes spans."""


class Span(Protocol):
    """Something that takes time; it is sent once it has ended."""

    def child(self, name: str, attributes: Mapping[str, Value]) -> "Span":
        """Begin a part of it."""

    def end(self, outcome: str, *, failed: bool, attributes: Mapping[str, Value]) -> None:
        """End it; `outcome` is one word."""


class Tracer(Protocol):
    """Where spans go. It must neither fail nor delay what they tell of."""

    async def begin(self, name: str, run_id: str, attributes: Mapping[str, Value]) -> Span | None:
        """Begin a span in the trace of a workflow's run; None while none can be made."""


_now: Final[ContextVar[Span | None]] = ContextVar("span", default=None)
"""Of the running activity's attempt."""


@asynccontextmanager
async def attempt(tracer: Tracer | None, arguments: Sequence[Any]) -> AsyncIterator[None]:
    """Tell of the running activity's attempt, which the block is.

    Args:
        tracer: Where to; None: nobody is told.
        arguments: What it was called with.
    """
    span = None
    if tracer is not None and activity.info().activity_type not in UNTOLD:
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
    """Tell of a tool's run, which the block is.

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
    """How the run of a tool ended, as far as it is told."""

    def __init__(self, found: dict[str, Value]) -> None:
        self._found = found

    def ended(self, end: ToolEnd | None) -> None:
        """Tell how it ended; None: it was never started."""
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
    """End the span with the block; what it puts into the dictionary is told."""
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
    # An activity that no workflow called is a run of its own.
    run_id = info.workflow_run_id or info.activity_run_id or ""
    attributes: dict[str, Value] = {
        # As Temporal's own SDKs call them.
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
