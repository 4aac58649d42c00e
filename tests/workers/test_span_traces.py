"""A worker's traces: what is sent, also if the gateway refuses or is away, or if they are off."""

import asyncio
import threading
from dataclasses import replace
from typing import Any

import pytest
from starlette.responses import Response

from tests.gateway.telemetry.otlp_site import Collector
from workers.span_exporter import PATIENCE
from workers.span_traces import QUEUE_SPANS, Traces, trace_of
from workers.trace_intake import TraceIntake
from workers.tracing import Tracing

RUN = "0191f3a2-6a5c-7c1e-9d8a-6f1f6b7d0c11"
QUICK = replace(PATIENCE, first_wait_seconds=0.01, longest_wait_seconds=0.05)
SOON = 0.02


class Renewed:
    """A credential that differs for each request."""

    def __init__(self) -> None:
        self.shown = 0

    @property
    def token(self) -> str:
        self.shown += 1
        return str(self.shown)


def intake(url: str) -> TraceIntake:
    return TraceIntake(f"{url}/v1/traces", Renewed(), None)


def spans(collector: Collector) -> list[Any]:
    return [
        span
        for _, request in collector.taken
        for resource in request.resource_spans
        for scope in resource.scope_spans
        for span in scope.spans
    ]


def attributes(of: Any) -> dict[str, Any]:
    found = {one.key: one.value for one in of.attributes}
    return {key: getattr(value, value.WhichOneof("value")) for key, value in found.items()}


async def until(condition: Any) -> None:
    async with asyncio.timeout(20):
        while not condition():
            await asyncio.sleep(0.01)


async def test_a_run_is_a_trace_of_attempts_and_their_tools(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("OTEL_RESOURCE_ATTRIBUTES", "password=hunter2")
    monkeypatch.setenv("OTEL_TRACES_SAMPLER", "always_off")
    collector = Collector()
    with collector.served() as url:
        tracing = Tracing("exclave-worker", intake(url), lambda: True)
        for outcome in ("EngineFailed", "ok"):
            span = await tracing.begin("terraform.apply", RUN, {"exclave.component": "vpc"})
            assert span is not None
            tool = span.child("apply", {"exclave.tool.attached": False})
            tool.end("failed", failed=True, attributes={"exclave.tool.exit_code": 1})
            span.end(outcome, failed=outcome != "ok", attributes={})
        await tracing.leave()
    # A batch is sent when the worker exits, however short its life.
    first_tool, failed, _, good = spans(collector)
    trace = trace_of(RUN)
    assert {one.trace_id for one in spans(collector)} == {trace.trace_id.to_bytes(16)}
    assert failed.parent_span_id == good.parent_span_id == trace.span_id.to_bytes(8)
    assert first_tool.parent_span_id == failed.span_id
    assert (failed.name, first_tool.name) == ("terraform.apply", "apply")
    assert (failed.status.code, failed.status.message) == (2, "")
    assert (good.status.code, list(failed.events)) == (0, [])
    assert attributes(failed) == {
        "exclave.component": "vpc",
        "exclave.outcome": "EngineFailed",
        "error.type": "EngineFailed",
    }
    assert attributes(first_tool)["exclave.tool.exit_code"] == 1
    [(_, request)] = collector.taken
    resource = attributes(request.resource_spans[0].resource)
    assert resource.keys() == {"service.name", "service.version"}


async def test_what_is_refused_is_tried_again_with_the_newest_credential(
    caplog: pytest.LogCaptureFixture,
) -> None:
    refusals = [Response(status_code=code, headers={"Retry-After": "0"}) for code in (429, 401)]
    collector = Collector(*refusals, Response(status_code=503))
    with collector.served() as url, caplog.at_level("INFO", "workers.span_exporter"):
        traces = Traces("w", intake(url), lambda: True, every_seconds=SOON, patience=QUICK)
        traces.begin("one", RUN, {}).end("ok", failed=False, attributes={})
        await until(lambda: spans(collector))
        traces.leave(5)
    assert [one["authorization"] for one in collector.headers] == [
        f"Bearer {n}" for n in range(1, 5)
    ]
    assert "answers 429" in caplog.text
    assert "accepts traces again" in caplog.text


async def test_whoever_leaves_does_not_wait_as_long_as_the_gateway_wants() -> None:
    collector = Collector(Response(status_code=429, headers={"Retry-After": "200"}))
    with collector.served() as url:
        traces = Traces("w", intake(url), lambda: True, every_seconds=SOON, patience=QUICK)
        for name in ("one", "two"):
            traces.begin(name, RUN, {}).end("ok", failed=False, attributes={})
            await until(lambda: collector.asked)
        traces.leave(5)
    assert (collector.asked, spans(collector)) == (1, [])


@pytest.mark.parametrize("status", [400, 403, 404, 413])
async def test_what_is_refused_for_good_is_dropped(
    status: int, caplog: pytest.LogCaptureFixture
) -> None:
    collector = Collector(Response("a secret of theirs", status_code=status))
    with collector.served() as url:
        traces = Traces("w", intake(url), lambda: True, every_seconds=SOON, patience=QUICK)
        traces.begin("one", RUN, {}).end("ok", failed=False, attributes={})
        await until(lambda: collector.asked)
        traces.begin("two", RUN, {}).end("ok", failed=False, attributes={})
        traces.leave(5)
    assert [one.name for one in spans(collector)] == ["two"]
    assert f"which are dropped: {url}/v1/traces answers {status}" in caplog.text
    assert "secret" not in caplog.text


async def test_what_waits_is_bounded_and_the_oldest_goes(caplog: pytest.LogCaptureFixture) -> None:
    # The first batch takes long, so that much happens meanwhile.
    there = threading.Event()
    asked = threading.Event()

    def allowed() -> bool:
        asked.set()
        return there.wait(20)

    collector = Collector()
    with collector.served() as url:
        traces = Traces("w", intake(url), allowed, every_seconds=SOON, patience=QUICK)
        traces.begin("the first", RUN, {}).end("ok", failed=False, attributes={})
        assert await asyncio.to_thread(asked.wait, 20)
        for number in range(QUEUE_SPANS + 100):
            traces.begin(str(number), RUN, {}).end("ok", failed=False, attributes={})
        there.set()
        traces.leave(5)
    kept = [str(number) for number in range(100, QUEUE_SPANS + 100)]
    assert [one.name for one in spans(collector)] == ["the first", *kept]
    assert "Queue full" in caplog.text


async def test_who_is_away_is_tried_again_and_fails_nothing(
    unused_tcp_port: int, caplog: pytest.LogCaptureFixture
) -> None:
    traces = Traces(
        *("w", intake(f"http://127.0.0.1:{unused_tcp_port}"), lambda: True),
        every_seconds=SOON,
        patience=QUICK,
    )
    traces.begin("one", RUN, {}).end("ok", failed=False, attributes={})
    await until(lambda: "does not answer (ConnectError)" in caplog.text)
    traces.leave(5)


async def test_once_the_customer_says_no_nothing_goes_not_even_what_waited() -> None:
    collector = Collector(Response(status_code=503))
    answers = iter([True])
    with collector.served() as url:
        traces = Traces(
            "w", intake(url), lambda: next(answers, False), every_seconds=SOON, patience=QUICK
        )
        traces.begin("one", RUN, {}).end("ok", failed=False, attributes={})
        await until(lambda: collector.asked)
        traces.begin("two", RUN, {}).end("ok", failed=False, attributes={})
        traces.leave(5)
    assert (collector.asked, spans(collector)) == (1, [])


async def test_work_is_done_even_if_no_trace_can_be_sent(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("OTEL_SPAN_ATTRIBUTE_COUNT_LIMIT", "hunter2")
    tracing = Tracing("w", intake("http://127.0.0.1:1"), lambda: True)
    for _ in range(2):
        assert await tracing.begin("one", RUN, {}) is None
    await tracing.leave()
    assert caplog.text.count("There will be no traces") == 1
    assert "hunter2" not in caplog.text
