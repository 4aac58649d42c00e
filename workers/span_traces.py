"""Spans by OpenTelemetry's SDK; `workers.tracing` imports this module with the first activity.

A workflow's run is a trace, and its ids follow from the run's id (`trace_of`). So no context has to
be passed along, and whoever knows the run knows its trace.
"""

import hashlib
from collections.abc import Callable, Mapping
from importlib.metadata import version

from opentelemetry.context import Context
from opentelemetry.metrics import NoOpMeterProvider
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter
from opentelemetry.sdk.trace.sampling import ALWAYS_ON
from opentelemetry.trace import (
    NonRecordingSpan,
    SpanContext,
    StatusCode,
    TraceFlags,
    Tracer,
    set_span_in_context,
)
from opentelemetry.trace import Span as SdkSpan

from activities.spans import Span, Value
from wire.backoff import Patience
from wire.network.httpx_parts import Bearer
from workers.span_exporter import PATIENCE, GatewayExporter
from workers.trace_intake import TraceIntake

QUEUE_SPANS = 1024
"""Spans that wait in memory, about 2 MB; while the queue is full, each new one drops the oldest."""
_BATCH_SPANS = 256
_EVERY_SECONDS = 5.0


def trace_of(run_id: str) -> SpanContext:
    """The trace of a workflow's run, as the context of the run's own span, which is never sent."""
    digest = hashlib.sha256(run_id.encode()).digest()
    return SpanContext(
        trace_id=int.from_bytes(digest[:16]),
        span_id=int.from_bytes(digest[16:24]),
        is_remote=True,
        trace_flags=TraceFlags(TraceFlags.SAMPLED),
    )


class Traces:
    """The spans of one worker process, sent in batches by a separate thread."""

    def __init__(
        self,
        service: str,
        intake: TraceIntake,
        allowed: Callable[[], bool],
        *,
        every_seconds: float = _EVERY_SECONDS,
        patience: Patience = PATIENCE,
    ) -> None:
        """Nothing is sent yet; the arguments are those of `workers.tracing.Tracing`."""
        self._exporter = GatewayExporter(
            intake.url, Bearer(intake.credentials), intake.trust, allowed, patience
        )
        self._provider = _provider(service, self._exporter, every_seconds)
        self._tracer = self._provider.get_tracer("exclave")

    def begin(self, name: str, run_id: str, attributes: Mapping[str, Value]) -> Span:
        """Begin a span in the trace of a workflow's run."""
        return _Span.begun(self._tracer, NonRecordingSpan(trace_of(run_id)), name, attributes)

    def leave(self, seconds: float) -> None:
        """Send the remaining spans within about so many seconds, and accept no more; blocks."""
        self._exporter.leave(seconds)
        self._provider.shutdown()


def _provider(service: str, exporter: SpanExporter, every_seconds: float) -> TracerProvider:
    # Every setting is given, or the SDK would read it from the machine's OTEL_ variables, whose
    # content must not be sent.
    provider = TracerProvider(
        sampler=ALWAYS_ON,
        resource=Resource({"service.name": service, "service.version": version("exclave")}),
        shutdown_on_exit=False,
    )
    processor = BatchSpanProcessor(
        exporter,
        max_queue_size=QUEUE_SPANS,
        max_export_batch_size=_BATCH_SPANS,
        schedule_delay_millis=every_seconds * 1000,
        export_timeout_millis=30_000,
        meter_provider=NoOpMeterProvider(),
    )
    provider.add_span_processor(processor)
    return provider


class _Span:
    """Implements `activities.spans.Span`."""

    def __init__(self, tracer: Tracer, span: SdkSpan) -> None:
        self._tracer = tracer
        self._span = span

    @classmethod
    def begun(
        cls, tracer: Tracer, parent: SdkSpan, name: str, attributes: Mapping[str, Value]
    ) -> "_Span":
        """A span below this parent, whatever the process's current context is."""
        context = set_span_in_context(parent, Context())
        return cls(tracer, tracer.start_span(name, context, attributes=attributes))

    def child(self, name: str, attributes: Mapping[str, Value]) -> Span:
        """As `activities.spans.Span` says."""
        return _Span.begun(self._tracer, self._span, name, attributes)

    def end(self, outcome: str, *, failed: bool, attributes: Mapping[str, Value]) -> None:
        """As `activities.spans.Span` says."""
        self._span.set_attributes({"exclave.outcome": outcome, **attributes})
        if failed:
            # Neither description nor recorded exception: they would contain the error's message.
            self._span.set_attribute("error.type", outcome)
            self._span.set_status(StatusCode.ERROR)
        self._span.end()
