"""A worker's traces: sent through its gateway; without a gateway, to nobody.

OpenTelemetry is imported with the first activity, since most workers of a fleet are idle.
"""

import asyncio
import logging
import threading
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from activities.spans import Span, Value
from workers.gateway_access import Reach
from workers.trace_intake import TraceIntake

if TYPE_CHECKING:
    from workers.span_traces import Traces

_log = logging.getLogger(__name__)

LEAVE_SECONDS = 3.0
"""How long to go on sending the remaining spans when the worker exits."""


class Tracing:
    """Implements `activities.spans.Tracer`."""

    def __init__(self, service: str, intake: TraceIntake, allowed: Callable[[], bool]) -> None:
        """Nothing is sent yet.

        Args:
            service: The program's name.
            intake: Where traces are sent.
            allowed: Whether they may be sent; called before each request; blocks.
        """
        self._service = service
        self._intake = intake
        self._allowed = allowed
        self._traces: Traces | None = None
        self._unusable = False

    async def begin(self, name: str, run_id: str, attributes: Mapping[str, Value]) -> Span | None:
        """As `activities.spans.Tracer` says."""
        if self._unusable:
            return None
        try:
            made = await asyncio.to_thread(_imported) if self._traces is None else None
            # Several first activities may get here at once; only one sets it.
            if self._traces is None and made is not None:
                self._traces = made(self._service, self._intake, self._allowed)
        except Exception as error:
            # For example a wrong OTEL_ variable, or no free thread: no reason to fail the work.
            _log.warning("There will be no traces: %s while starting them.", type(error).__name__)
            self._unusable = True
        return self._traces.begin(name, run_id, attributes) if self._traces else None

    async def leave(self) -> None:
        """Send the remaining spans within seconds; what cannot be sent by then is dropped."""
        if self._traces is None:
            return
        # A daemon thread, since the event loop would wait for its own threads.
        leaving = threading.Thread(
            target=self._traces.leave, args=(LEAVE_SECONDS,), name="last traces", daemon=True
        )
        leaving.start()
        await asyncio.to_thread(leaving.join, LEAVE_SECONDS)


def tracing_of(
    reach: Reach, service: str, allowed: Callable[[], bool] = lambda: True
) -> Tracing | None:
    """The traces of a worker; None if it reaches its control plane without a gateway."""
    gateway, credentials = reach.gateway, reach.credentials
    if gateway is None or credentials is None:
        return None
    trust = gateway.context() if gateway.secure else None
    return Tracing(service, TraceIntake(f"{gateway.url}/v1/traces", credentials, trust), allowed)


def _imported() -> "type[Traces]":
    from workers.span_traces import Traces  # noqa: PLC0415 - see above

    return Traces
