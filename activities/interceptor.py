"""What every activity passes through: whose work it is, what it requires, and how it may fail.

A worker that lacks a feature which an input requires refuses it: doing the rest would be wrong in a
way that nobody sees. An exception that is none of ours is a bug, and says so by its place in the
code alone, since its own words may hold a secret. A store that does not answer, a full disk or a
file that cannot be read are none: they can be mended, and Temporal tries again until they are.
"""

import logging
import os
import traceback
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Protocol

from temporalio.exceptions import ApplicationError
from temporalio.exceptions import CancelledError as TemporalCancelledError
from temporalio.service import RPCError, RPCStatusCode
from temporalio.worker import ActivityInboundInterceptor, ExecuteActivityInput, Interceptor

from activities import spans
from activities.disk import disk_full, of_store
from activities.ids import require_ids
from activities.unregistered import refuse_unknown, unknown_activity
from contracts.errors import Bug, EngineFailed, NotUnderstood, PolicyDenied, Unreachable
from contracts.messages import WorkerInput
from store.errors import Conflict, StoreUnavailable
from store.left_files import NoFileLeft
from store.reserve import is_full

_log = logging.getLogger(__name__)
_WRONG_CALLS = frozenset(
    {
        RPCStatusCode.INVALID_ARGUMENT,
        RPCStatusCode.NOT_FOUND,
        RPCStatusCode.ALREADY_EXISTS,
        RPCStatusCode.OUT_OF_RANGE,
        RPCStatusCode.UNIMPLEMENTED,
    }
)
"""What Temporal says of the call itself, whoever sends it and whenever."""
_ROOT = Path(__file__).resolve().parent.parent


class Guard(Protocol):
    """What stands before every activity of an install worker: the customer's side."""

    async def run(
        self,
        arguments: Sequence[Any],
        check: Callable[[], None],
        body: Callable[[], Awaitable[Any]],
    ) -> Any:
        """Run the check and then the activity, or refuse it."""


class ActivityInterceptor(Interceptor):
    """Checks what comes in, and types what goes wrong."""

    def __init__(
        self,
        features: frozenset[str] = frozenset(),
        install: str | None = None,
        guard: Guard | None = None,
        tracer: spans.Tracer | None = None,
    ) -> None:
        """Put the checks around the activities of a worker.

        Args:
            features: Of an install worker: what it can do.
            install: Of an install worker: its install.
            guard: Of an install worker: the customer's side of it.
            tracer: Who is told of each attempt; nobody without a gateway.
        """
        self._features = features
        self._install = install
        self._guard = guard
        self._tracer = tracer

    def intercept_activity(self, next: ActivityInboundInterceptor) -> ActivityInboundInterceptor:
        """Put the checks around each activity."""
        return _Inbound(next, self._features, self._install, self._guard, self._tracer)


class _Inbound(ActivityInboundInterceptor):
    def __init__(
        self,
        next: ActivityInboundInterceptor,
        features: frozenset[str],
        install: str | None,
        guard: Guard | None,
        tracer: spans.Tracer | None,
    ) -> None:
        super().__init__(next)
        self._features = features
        self._install = install
        self._guard = guard
        self._tracer = tracer

    async def execute_activity(self, input: ExecuteActivityInput) -> Any:
        async with spans.attempt(self._tracer, input.args):
            return await self._typed(input)

    async def _typed(self, input: ExecuteActivityInput) -> Any:
        def check() -> None:
            if input.fn is refuse_unknown:
                raise unknown_activity()
            if self._install is not None:
                require_ids(input.args)
            for argument in input.args:
                if isinstance(argument, WorkerInput):
                    self._check(argument)

        async def body() -> Any:
            return await super(_Inbound, self).execute_activity(input)

        try:
            if self._guard is not None:
                return await self._guard.run(input.args, check, body)
            check()
            return await body()
        except TemporalCancelledError:
            raise
        except ApplicationError as error:
            # The message is written for people; causes and stacks are not, and would travel too.
            error.__cause__ = None
            raise error.with_traceback(None) from None
        except (StoreUnavailable, Conflict) as error:
            raise of_store(error) from None
        except RPCError as error:
            place = _logged(error)
            raise _of_temporal(error, place) from None
        except NoFileLeft as error:
            raise EngineFailed(f"{error}.") from None
        except OSError as error:
            _logged(error)
            if is_full(error):
                raise disk_full(Path(os.fsdecode(error.filename or "."))) from None
            raise Unreachable(_what_to_mend(error)) from None
        except Exception as error:
            place = _logged(error)
            raise Bug(
                f"{type(error).__name__} at {place}: this is a fault of Exclave's own. The "
                "worker's log has the rest."
            ) from None

    def _check(self, argument: WorkerInput) -> None:
        unknown = sorted(set(argument.requires) - self._features)
        if unknown:
            raise NotUnderstood(
                f"This worker does not know {', '.join(unknown)}; update it. "
                f"It knows: {', '.join(sorted(self._features))}."
            )
        install = getattr(argument, "install", self._install)
        if self._install is not None and install != self._install:
            raise PolicyDenied(
                f"This worker belongs to the install {self._install!r}, not to {install!r}."
            )


def _of_temporal(error: RPCError, place: str) -> Unreachable | Bug:
    """Of a call to Temporal that failed: busy, away or not itself, it may answer the next time."""
    said = f"Temporal answered {error.status.name} to what {place} asked"
    if error.status in _WRONG_CALLS:
        return Bug(f"{said}: this is a fault of Exclave's own. The worker's log has the rest.")
    return Unreachable(f"{said}. It is tried again until it does.")


def _logged(error: Exception) -> str:
    """Log where an error came from, without its words; returns the place."""
    place = _place(error.__traceback__)
    _log.error("%s at %s\n%s", type(error).__name__, place, _frames(error))
    return place


def _what_to_mend(error: OSError) -> str:
    """The operating system's own words alone: of any others, nobody knows what is in them."""
    reason = os.strerror(error.errno) if error.errno else type(error).__name__
    where = error.filename or f"what {_place(error.__traceback__)} uses"
    return (
        f"The worker's machine cannot use {where}: {reason}. Free space or mend it there; it is "
        "tried again until it works."
    )


def _place(trace: TracebackType | None) -> str:
    """The innermost line of our own code."""
    ours = [
        frame for frame in traceback.extract_tb(trace) if Path(frame.filename).is_relative_to(_ROOT)
    ]
    if not ours:
        return "an unknown place"
    return f"{Path(ours[-1].filename).relative_to(_ROOT)}:{ours[-1].lineno}"


def _frames(error: BaseException) -> str:
    """The stack without the error's own words."""
    return "".join(traceback.format_tb(error.__traceback__))
