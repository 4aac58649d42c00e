"""Telemetry as SDKs send it, a gateway that accepts it, and a collector that may refuse."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import httpx
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.trace.v1.trace_pb2 import Status
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from gateway.audit import Audit
from gateway.http.callers import Callers, Rate
from gateway.telemetry.intake import IntakeLimits
from gateway.telemetry.queue import Batch, Sink, TelemetryQueue
from gateway.telemetry.settings import taking_in
from gateway.telemetry.signals import SIGNALS, Signal
from tests.artifacts.serving import served
from tests.gateway.gateway_parts import Credentials, Standings, build, install

PROTOBUF = {"Content-Type": "application/x-protobuf"}
JSON = {"Content-Type": "application/json"}
TRACE = bytes(range(16))
SPAN = bytes(range(8))


def logs(*bodies: str, **resource: str) -> ExportLogsServiceRequest:
    request = ExportLogsServiceRequest()
    one = request.resource_logs.add()
    _set(one.resource.attributes, resource)
    scope = one.scope_logs.add()
    scope.scope.name = "worker"
    for number, body in enumerate(bodies, 1):
        record = scope.log_records.add(time_unix_nano=number, severity_text="INFO")
        record.body.string_value = body
        record.trace_id = TRACE
    return request


def traces(name: str = "apply", **resource: str) -> ExportTraceServiceRequest:
    request = ExportTraceServiceRequest()
    one = request.resource_spans.add()
    _set(one.resource.attributes, resource)
    span = one.scope_spans.add().spans.add(
        name=name,
        trace_id=TRACE,
        span_id=SPAN,
        start_time_unix_nano=1,
        end_time_unix_nano=1_500_000_001,
    )
    span.status.code = Status.STATUS_CODE_ERROR
    span.status.message = "engine failed"
    return request


def metrics(*values: int, **resource: str) -> ExportMetricsServiceRequest:
    request = ExportMetricsServiceRequest()
    one = request.resource_metrics.add()
    _set(one.resource.attributes, resource)
    metric = one.scope_metrics.add().metrics.add(name="tools", unit="1")
    for value in values:
        metric.gauge.data_points.add(as_int=value, time_unix_nano=5)
    return request


def _set(attributes: Any, values: dict[str, str]) -> None:
    for key, value in values.items():
        attributes.add(key=key.replace("__", ".")).value.string_value = value


def resource_of(signal: Signal, request: Any, index: int = 0) -> list[tuple[str, str]]:
    """The attributes of one of the request's resources, in order."""
    found = signal.resources_of(request)[index].resource.attributes
    return [(one.key, one.value.string_value) for one in found]


class Kept:
    """A sink that keeps the batches it gets, once a test lets it."""

    def __init__(self, takes: bool = True) -> None:
        self.batches: list[Batch] = []
        self.takes = asyncio.Event()
        if takes:
            self.takes.set()

    async def run(self, queue: TelemetryQueue) -> None:
        while True:
            await self.takes.wait()
            batch = await queue.take()
            self.batches.append(batch)
            queue.done(batch)


@dataclass
class TelemetrySite:
    """A gateway's intake with a sink behind it."""

    sink: Sink
    limits: IntakeLimits = field(default_factory=IntakeLimits)
    rate: Rate = field(default_factory=lambda: Rate(1000, 1000))
    queue_bytes: int = 1_000_000
    queue_bytes_each: int = 1_000_000
    standings: Standings = field(default_factory=Standings)
    audit: Audit = field(default_factory=Audit)

    def __post_init__(self) -> None:
        self.queue = TelemetryQueue(self.queue_bytes, self.queue_bytes_each)

    @asynccontextmanager
    async def serving(self, drain_seconds: float = 10) -> AsyncIterator[httpx.AsyncClient]:
        """The intake in this event loop, and a client with acme's credential."""
        known = {"acme": install("acme"), "other": install("other"), "build": build()}
        callers = Callers(Credentials(known), self.standings, self.audit, self.rate)
        taking = taking_in(callers, self.queue, self.sink, drain_seconds, self.limits)
        async with taking as routes:
            transport = httpx.ASGITransport(Starlette(routes=routes))
            async with httpx.AsyncClient(
                transport=transport,
                base_url="http://gateway",
                headers={"Authorization": "Bearer acme", **PROTOBUF},
            ) as client:
                yield client


class Collector:
    """An OTLP collector that gives the set answers first, and then accepts everything."""

    def __init__(self, *answers: Response) -> None:
        self.answers = list(answers)
        self.asked = 0
        self.taken: list[tuple[Signal, Any]] = []
        self.headers: list[dict[str, str]] = []
        self.app = Starlette(
            routes=[Route(one.path, self._taking(one), methods=["POST"]) for one in SIGNALS]
        )

    def _taking(self, signal: Signal) -> Any:
        async def take(request: Request) -> Response:
            self.asked += 1
            self.headers.append(dict(request.headers))
            body = await request.body()
            if self.answers:
                return self.answers.pop(0)
            parsed = signal.request()
            parsed.ParseFromString(body)
            self.taken.append((signal, parsed))
            return Response(signal.response().SerializeToString(), headers=PROTOBUF)

        return take

    def served(self) -> Any:
        return served(self.app)
