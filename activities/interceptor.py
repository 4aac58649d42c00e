"""What every activity passes through: checks of its input, and the types of its errors.

A worker refuses an input that requires a feature it lacks, since doing the rest would be wrong
without anybody noticing. An exception of an unknown type is a bug, and is reported with its place
in the code but without its message, which may hold a secret. A store that does not answer, a full
disk and an unreadable file are not bugs: they can be repaired, and Temporal retries until they are.
"""

import logging
import os
import traceback
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
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
"""Answers of Temporal that mean that the call itself is wrong, so retrying would not help."""
_ROOT = Path(__file__).resolve().parent.parent


class Guard(Protocol):
    """The customer's side, which every activity of an install worker must pass."""

    async def run(
        self,
        arguments: Sequence[Any],
        check: Callable[[], None],
        body: Callable[[], Awaitable[Any]],
    ) -> Any:
        """Run the check and then the activity, or refuse it."""


@dataclass(frozen=True)
class ActivityInterceptor(Interceptor):
    """Checks each activity's input, and turns its errors into typed ones."""

    features: frozenset[str] = frozenset()
    """What an install worker can do."""
    install: str | None = None
    """The install of an install worker."""
    guard: Guard | None = None
    """The customer's side of an install worker."""
    tracer: spans.Tracer | None = None
    """Receives a span for each attempt; None without a gateway."""

    def intercept_activity(self, next: ActivityInboundInterceptor) -> ActivityInboundInterceptor:
        """Put the checks around each activity."""
        return _Inbound(next, self)


class _Inbound(ActivityInboundInterceptor):
    def __init__(self, next: ActivityInboundInterceptor, worker: ActivityInterceptor) -> None:
        super().__init__(next)
        self._worker = worker

    async def execute_activity(self, input: ExecuteActivityInput) -> Any:
        async with spans.attempt(self._worker.tracer, input.args):
            return await self._typed(input)

    async def _typed(self, input: ExecuteActivityInput) -> Any:
        def check() -> None:
            if input.fn is refuse_unknown:
                raise unknown_activity()
            if self._worker.install is not None:
                require_ids(input.args)
            for argument in input.args:
                if isinstance(argument, WorkerInput):
                    self._check(argument)

        async def body() -> Any:
            return await super(_Inbound, self).execute_activity(input)

        try:
            if self._worker.guard is not None:
                return await self._worker.guard.run(input.args, check, body)
            check()
            return await body()
        except TemporalCancelledError:
            raise
        except ApplicationError as error:
            # Only the message is meant for people; cause and stack would be sent along with it.
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
            raise Unreachable(_what_to_repair(error)) from None
        except Exception as error:
            place = _logged(error)
            raise Bug(
                f"{type(error).__name__} at {place}: this is a bug in Exclave. The worker's log "
                "has the details."
            ) from None

    def _check(self, argument: WorkerInput) -> None:
        unknown = sorted(set(argument.requires) - self._worker.features)
        if unknown:
            raise NotUnderstood(
                f"This worker does not know {', '.join(unknown)}; update it. "
                f"It knows: {', '.join(sorted(self._worker.features))}."
            )
        install = getattr(argument, "install", self._worker.install)
        if self._worker.install is not None and install != self._worker.install:
            raise PolicyDenied(
                f"This worker belongs to the install {self._worker.install!r}, not to {install!r}."
            )


def _of_temporal(error: RPCError, place: str) -> Unreachable | Bug:
    """The error for a failed call to Temporal, which may be busy or away for now."""
    answer = f"Temporal answered {error.status.name} to a call from {place}"
    if error.status in _WRONG_CALLS:
        return Bug(f"{answer}: this is a bug in Exclave. The worker's log has the details.")
    return Unreachable(f"{answer}. The call is retried until it succeeds.")


def _logged(error: Exception) -> str:
    """Log where an error came from, without its message; returns the place."""
    place = _place(error.__traceback__)
    _log.error("%s at %s\n%s", type(error).__name__, place, _frames(error))
    return place


def _what_to_repair(error: OSError) -> str:
    """Uses only the operating system's message; any other could contain a secret."""
    reason = os.strerror(error.errno) if error.errno else type(error).__name__
    where = error.filename or f"what {_place(error.__traceback__)} uses"
    return (
        f"The worker's machine cannot use {where}: {reason}. Free space or repair it there; this "
        "is retried until it works."
    )


def _place(trace: TracebackType | None) -> str:
    """The innermost stack frame in our own code, as file and line."""
    ours = [
        frame for frame in traceback.extract_tb(trace) if Path(frame.filename).is_relative_to(_ROOT)
    ]
    if not ours:
        return "an unknown place"
    return f"{Path(ours[-1].filename).relative_to(_ROOT)}:{ours[-1].lineno}"


def _frames(error: BaseException) -> str:
    """The stack, without the error's message."""
    return "".join(traceback.format_tb(error.__traceback__))
