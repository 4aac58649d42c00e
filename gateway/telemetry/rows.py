"""Converts telemetry to rows of one table: a row for each log record, span and metric."""

import base64
import json
import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from google.protobuf import json_format
from opentelemetry.proto.common.v1.common_pb2 import AnyValue
from opentelemetry.proto.logs.v1.logs_pb2 import LogRecord
from opentelemetry.proto.metrics.v1.metrics_pb2 import Metric
from opentelemetry.proto.trace.v1.trace_pb2 import Span

from gateway.telemetry.queue import Batch

_LARGEST_TIME = 2**63 - 1
"""SQLite's integers are signed, and OTLP's times are not."""

_STATUSES = {0: "unset", 1: "ok", 2: "error"}


@dataclass(frozen=True)
class Row:
    """What the embedded store keeps of one item."""

    time: int
    """Unix nanoseconds, from the sender; 0 if it states none."""
    signal: str
    org: str
    install: str
    key: str
    name: str
    """The name of a span or metric; the severity of a log record."""
    text: str
    """A log record's body, a span's status and duration, a metric's points."""
    trace: str
    span: str
    attributes: str
    """JSON: the item's own attributes, and under `resource` those of its resource."""


def rows(batch: Batch) -> Iterator[Row]:
    """The rows of one batch."""
    sender = batch.sender
    for resource in batch.signal.resources_of(batch.parsed()):
        about = _attributes(resource.resource.attributes)
        for scope in batch.signal.scopes_of(resource):
            for item in batch.signal.items_of(scope):
                time, name, text, own = _described(item)
                attributes = {**own, "scope": scope.scope.name, "resource": about}
                yield Row(
                    time=min(time, _LARGEST_TIME),
                    signal=batch.signal.name,
                    org=sender.org,
                    install=sender.name,
                    key=sender.key,
                    name=name,
                    text=text,
                    trace=getattr(item, "trace_id", b"").hex(),
                    span=getattr(item, "span_id", b"").hex(),
                    attributes=json.dumps(attributes, ensure_ascii=False),
                )


def _described(item: Any) -> tuple[int, str, str, dict[str, Any]]:
    match item:
        case LogRecord():
            body = value_of(item.body)
            text = body if isinstance(body, str) else json.dumps(body, ensure_ascii=False)
            time = item.time_unix_nano or item.observed_time_unix_nano
            return time, item.severity_text, text, _attributes(item.attributes)
        case Span():
            status = _STATUSES.get(item.status.code, str(item.status.code))
            seconds = (item.end_time_unix_nano - item.start_time_unix_nano) / 1e9
            text = f"{status}, {seconds:.3f} s {item.status.message}".rstrip()
            return item.start_time_unix_nano, item.name, text, _attributes(item.attributes)
        case Metric():
            kind = item.WhichOneof("data")
            points = getattr(item, kind).data_points if kind else []
            time = max((point.time_unix_nano for point in points), default=0)
            text = json.dumps([json_format.MessageToDict(point) for point in points])
            return time, item.name, text, {"unit": item.unit, "kind": kind or ""}
    raise AssertionError(f"OTLP has no {type(item).__name__} there")


def _attributes(attributes: Any) -> dict[str, Any]:
    return {one.key: value_of(one.value) for one in attributes}


def value_of(value: AnyValue) -> Any:
    """An attribute's value as JSON; bytes become base64."""
    kind = value.WhichOneof("value")
    match kind:
        case "array_value":
            return [value_of(one) for one in value.array_value.values]
        case "kvlist_value":
            return _attributes(value.kvlist_value.values)
        case "bytes_value":
            return base64.b64encode(value.bytes_value).decode()
        case "double_value" if not math.isfinite(value.double_value):
            return str(value.double_value)
        case None:
            return None
    return getattr(value, kind)
