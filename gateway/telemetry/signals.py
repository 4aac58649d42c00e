"""OTLP's three signals (logs, traces, metrics), and what they have in common."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from google.protobuf.message import Message
from opentelemetry.proto.collector.logs.v1 import logs_service_pb2 as logs
from opentelemetry.proto.collector.metrics.v1 import metrics_service_pb2 as metrics
from opentelemetry.proto.collector.trace.v1 import trace_service_pb2 as traces
from opentelemetry.proto.metrics.v1.metrics_pb2 import Metric


@dataclass(frozen=True)
class Signal:
    """The names of one signal's fields; OTLP nests items in scopes, and scopes in resources."""

    name: str
    request: type[Message]
    response: type[Message]
    resources: str
    scopes: str
    items: str
    rejected: str
    """The field of `partial_success` that counts what was dropped."""

    @property
    def path(self) -> str:
        """The path that it is sent to, by the specification."""
        return f"/v1/{self.name}"

    def resources_of(self, request: Message) -> Any:
        """The repeated field of resources."""
        return getattr(request, self.resources)

    def scopes_of(self, resource: Message) -> Any:
        """The repeated field of scopes."""
        return getattr(resource, self.scopes)

    def items_of(self, scope: Message) -> Any:
        """The repeated field of items."""
        return getattr(scope, self.items)


LOGS = Signal(
    "logs",
    logs.ExportLogsServiceRequest,
    logs.ExportLogsServiceResponse,
    "resource_logs",
    "scope_logs",
    "log_records",
    "rejected_log_records",
)
TRACES = Signal(
    "traces",
    traces.ExportTraceServiceRequest,
    traces.ExportTraceServiceResponse,
    "resource_spans",
    "scope_spans",
    "spans",
    "rejected_spans",
)
METRICS = Signal(
    "metrics",
    metrics.ExportMetricsServiceRequest,
    metrics.ExportMetricsServiceResponse,
    "resource_metrics",
    "scope_metrics",
    "metrics",
    "rejected_data_points",
)
SIGNALS = (LOGS, TRACES, METRICS)


def points_of(metric: Metric) -> Any:
    """The repeated field of a metric's points; empty if it has none."""
    kind = metric.WhichOneof("data")
    return getattr(metric, kind).data_points if kind else ()


def size_of(item: Any) -> int:
    """How many items it counts as in `partial_success`: a metric counts as its points."""
    return len(points_of(item)) if isinstance(item, Metric) else 1


def attributes_of(item: Any) -> Iterator[Any]:
    """Every repeated field of attributes in an item."""
    if isinstance(item, Metric):
        yield item.metadata
        for point in points_of(item):
            yield point.attributes
            for exemplar in getattr(point, "exemplars", ()):
                yield exemplar.filtered_attributes
        return
    yield item.attributes
    for part in (*getattr(item, "events", ()), *getattr(item, "links", ())):
        yield part.attributes
