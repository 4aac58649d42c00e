"""The intake of OTLP: both encodings, limits, the sender's identity, and a queue that is full."""

import asyncio
import gzip
import json
from collections.abc import AsyncIterator

import httpx
import pytest
from google.protobuf import json_format
from google.rpc.status_pb2 import Status

from gateway.http.callers import Rate
from gateway.identity import Standing
from gateway.telemetry.intake import IntakeLimits
from gateway.telemetry.signals import LOGS, METRICS, SIGNALS, TRACES
from gateway.telemetry.stamping import Bounds
from tests.artifacts.serving import served
from tests.gateway.gateway_parts import install
from tests.gateway.telemetry.otlp_site import (
    JSON,
    SPAN,
    TRACE,
    Kept,
    TelemetrySite,
    logs,
    metrics,
    resource_of,
    traces,
)

MINE = [("exclave.org", "dev"), ("exclave.install", "acme"), ("exclave.key", "a-key")]
ALL = [(LOGS, logs("hello")), (TRACES, traces()), (METRICS, metrics(1, 2))]


def message(answer: httpx.Response) -> str:
    """The message of a refusal, read as the specification says."""
    if answer.headers["Content-Type"].startswith("application/json"):
        return str(answer.json()["message"])
    status: str = Status.FromString(answer.content).message
    return status


async def test_every_signal_in_every_encoding_is_stamped() -> None:
    sink = Kept()
    async with TelemetrySite(sink).serving() as client:
        for signal, request in ALL:
            data = request.SerializeToString()
            as_json = json_format.MessageToDict(request)
            hexadecimal = json.dumps(as_json).replace("AAECAwQFBgcICQoLDA0ODw==", TRACE.hex())
            hexadecimal = hexadecimal.replace("AAECAwQFBgc=", SPAN.hex())
            for headers, body in (
                ({}, data),
                ({"Content-Encoding": "gzip"}, gzip.compress(data)),
                (JSON, hexadecimal.encode()),
                ({"Content-Type": "application/json; charset=utf-8"}, hexadecimal.encode()),
            ):
                answer = await client.post(signal.path, content=body, headers=headers)
                assert answer.status_code == 200, message(answer)
                sent_as = headers.get("Content-Type", "application/x-protobuf").partition(";")[0]
                assert answer.headers["Content-Type"].startswith(sent_as)
                assert answer.content in (b"", b"{}"), "nothing was dropped"
    assert len(sink.batches) == 12
    for number, (signal, request) in enumerate(ALL):
        of_signal = sink.batches[4 * number :][:4]
        assert {batch.signal for batch in of_signal} == {signal}
        assert len({batch.request for batch in of_signal}) == 1, "the encodings mean the same"
        assert resource_of(signal, of_signal[0].parsed()) == MINE
        stamped = of_signal[0].parsed()
        del signal.resources_of(stamped)[0].resource.attributes[:]
        signal.resources_of(request)[0].resource.SetInParent()
        assert stamped == request, "nothing else is changed"


async def test_a_caller_cannot_pass_for_another() -> None:
    sink = Kept()
    forged = logs(
        "x", exclave__install="other", service__name="w", Exclave_Org="prod", exclave__x="1"
    )
    record = forged.resource_logs[0].scope_logs[0].log_records[0]
    for key in ("exclave.install", "exclave_key", "exclave.component"):
        record.attributes.add(key=key).value.string_value = "other"
    async with TelemetrySite(sink).serving() as client:
        await client.post("/v1/logs", content=forged.SerializeToString())
        build = {"Authorization": "Bearer build"}
        await client.post("/v1/logs", content=forged.SerializeToString(), headers=build)
    stamped, of_build = (batch.parsed() for batch in sink.batches)
    assert resource_of(LOGS, stamped) == [("service.name", "w"), *MINE]
    found = LOGS.resources_of(stamped)[0].scope_logs[0].log_records[0].attributes
    assert [one.key for one in found] == ["exclave.component"]
    assert resource_of(LOGS, of_build) == [("service.name", "w"), MINE[0], MINE[2]]


async def test_who_may_not_send_is_refused() -> None:
    site = TelemetrySite(sink := Kept())
    body = logs("x").SerializeToString()
    async with site.serving() as client:
        answer = await client.post("/v1/logs", content=body, headers={"Authorization": "Bearer x"})
        assert (answer.status_code, "WWW-Authenticate" in answer.headers) == (401, True)
        assert "credential" in message(answer)
        site.standings.set(install("acme"), Standing.PAUSED)
        assert (await client.post("/v1/logs", content=body)).status_code == 200
        site.standings.set(install("acme"), Standing.REVOKED)
        assert (await client.post("/v1/logs", content=body)).status_code == 403
        assert (await client.get("/v1/logs")).status_code == 405
    assert len(sink.batches) == 1
    assert site.audit.counters.denials["telemetry", "403"] == 1


@pytest.mark.parametrize(
    ("headers", "body", "status"),
    [
        ({"Content-Type": "text/plain"}, b"x", 415),
        ({"Content-Encoding": "br"}, b"x", 415),
        ({}, b"\xff\xff", 400),
        ({"Content-Encoding": "gzip"}, b"\x1f\x8bnone", 400),
        (JSON, b"{", 400),
        (JSON, b"[" * 100_000, 400),
        (JSON, b'{"resourceLogs": 7}', 400),
        (JSON, b'{"resourceSpans":[{"scopeSpans":[{"spans":[{"traceId":"xyz"}]}]}]}', 400),
        ({}, bytes(20_001), 413),
        ({"Content-Encoding": "gzip"}, gzip.compress(bytes(4_000_000)), 413),
        ({}, b"\x0a\x00" * 1_001, 400),
        (JSON, b'{"resourceLogs":[' + b"{}," * 50_000 + b"{}]}", 400),
        (JSON, b'{"x":"' + b"x" * 1_100_000 + b'"}', 413),
    ],
)
async def test_what_is_not_understood_is_refused(
    headers: dict[str, str], body: bytes, status: int
) -> None:
    site = TelemetrySite(
        sink := Kept(), IntakeLimits(body_bytes=20_000 if status == 413 else 10**6)
    )
    async with site.serving() as client:
        path = "/v1/traces" if b"Spans" in body else "/v1/logs"
        answer = await client.post(path, content=body, headers=headers)
        assert (answer.status_code, bool(message(answer))) == (status, True)
        # The next one is accepted as usual.
        good = await client.post("/v1/logs", content=logs("x").SerializeToString())
        assert good.status_code == 200
    assert len(sink.batches) == 1


async def test_a_body_without_a_length_is_bounded_too() -> None:
    site = TelemetrySite(Kept(), IntakeLimits(body_bytes=1000))

    async def pieces() -> AsyncIterator[bytes]:
        while True:
            yield bytes(100)

    async with site.serving() as client:
        answer = await client.post("/v1/logs", content=pieces())
        assert answer.status_code == 413


async def test_what_is_over_the_bounds_is_dropped_and_reported() -> None:
    bounds = Bounds(items=3, item_bytes=5_000)
    site = TelemetrySite(sink := Kept(), IntakeLimits(bounds=bounds))
    request = logs("a", "x" * 6_000, "b", "c", "d")
    async with site.serving() as client:
        answer = await client.post("/v1/logs", content=request.SerializeToString())
        partial = LOGS.response.FromString(answer.content).partial_success  # type: ignore[attr-defined]
        assert (partial.rejected_log_records, bool(partial.error_message)) == (2, True)
        as_json = json.dumps(json_format.MessageToDict(metrics(1, 2, 3, 4)))
        answer = await client.post("/v1/metrics", content=as_json, headers=JSON)
        assert answer.json()["partialSuccess"]["rejectedDataPoints"] == "4"
    (batch,) = sink.batches
    records = batch.parsed().resource_logs[0].scope_logs[0].log_records  # type: ignore[attr-defined]
    assert [one.body.string_value for one in records] == ["a", "b", "c"]
    assert batch.items == 3


async def test_long_attributes_are_cut() -> None:
    bounds = Bounds(attributes=2, key_bytes=10, value_bytes=20, text_bytes=30)
    site = TelemetrySite(sink := Kept(), IntakeLimits(bounds=bounds))
    request = logs("é" * 100, service__name="n" * 100)
    attributes = request.resource_logs[0].scope_logs[0].log_records[0].attributes
    attributes.add(key="k" * 100).value.string_value = "v" * 100
    attributes.add(key="bytes").value.bytes_value = bytes(100)
    attributes.add(key="third").value.string_value = "goes"
    async with site.serving() as client:
        await client.post("/v1/logs", content=request.SerializeToString())
    (batch,) = sink.batches
    stamped = batch.parsed()
    assert resource_of(LOGS, stamped)[0] == ("service.na", "n" * 20)
    (record,) = stamped.resource_logs[0].scope_logs[0].log_records  # type: ignore[attr-defined]
    assert record.body.string_value == "é" * 15
    first, second = record.attributes
    assert (first.key, first.value.string_value) == ("k" * 10, "v" * 20)
    assert second.value.string_value.startswith("left out by the gateway")


async def test_a_full_queue_holds_senders_back_and_nobody_else() -> None:
    body = logs("x" * 1000).SerializeToString()
    sink = Kept(takes=False)
    site = TelemetrySite(sink, queue_bytes=4 * len(body), queue_bytes_each=3 * len(body))
    async with site.serving() as client:

        async def send(word: str) -> httpx.Response:
            headers = {"Authorization": f"Bearer {word}"}
            return await client.post("/v1/logs", content=body, headers=headers)

        answers = [await send("acme") for _ in range(4)]
        assert [one.status_code for one in answers] == [200, 200, 429, 429]
        assert int(answers[-1].headers["Retry-After"]) > 0
        answers = [await send("other") for _ in range(2)]
        assert [one.status_code for one in answers] == [200, 503]
        assert int(answers[-1].headers["Retry-After"]) > 0
        assert "waits to be handed on" in message(answers[-1])
        assert site.queue.held_bytes <= 4 * len(body)
        sink.takes.set()
        await site.queue.empty()
        assert (await send("acme")).status_code == 200
    assert len(sink.batches) == 4


async def test_one_identity_cannot_send_too_often_or_too_much_at_once() -> None:
    body = logs("x").SerializeToString()
    site = TelemetrySite(Kept(), IntakeLimits(requests_each=2, requests=3), Rate(0.001, 6))
    goes_on = asyncio.Event()

    async def slowly() -> AsyncIterator[bytes]:
        yield body[:1]
        await goes_on.wait()
        yield body[1:]

    async with site.serving() as client:

        def slow(word: str) -> asyncio.Task[httpx.Response]:
            headers = {"Authorization": f"Bearer {word}"}
            return asyncio.create_task(client.post("/v1/logs", content=slowly(), headers=headers))

        held = [slow("acme"), slow("acme")]
        await asyncio.sleep(0)
        refused = slow("acme")
        assert (await refused).status_code == 429
        held.append(slow("other"))
        await asyncio.sleep(0)
        assert (await slow("build")).status_code == 503
        goes_on.set()
        assert [one.status_code for one in await asyncio.gather(*held)] == [200, 200, 200]
        answers = [await client.post("/v1/logs", content=body) for _ in range(4)]
        assert [one.status_code for one in answers] == [200, 200, 200, 429]


async def test_a_body_that_does_not_come_is_not_waited_for() -> None:
    site = TelemetrySite(Kept(), IntakeLimits(body_seconds=0.05))

    async def never() -> AsyncIterator[bytes]:
        yield b"x"
        await asyncio.Event().wait()

    async with site.serving() as client:
        assert (await client.post("/v1/logs", content=never())).status_code == 408


async def test_one_connection_serves_many_requests() -> None:
    """On a real server."""
    sink = Kept()
    async with TelemetrySite(sink).serving() as client:
        app = client._transport.app  # type: ignore[attr-defined]
        with served(app) as address:

            def send() -> set[int]:
                with httpx.Client(
                    base_url=address, headers=client.headers, trust_env=False
                ) as real:
                    ports = set()
                    for signal, request in ALL:
                        with real.stream(
                            "POST", signal.path, content=request.SerializeToString()
                        ) as answer:
                            assert answer.status_code == 200
                            stream = answer.extensions["network_stream"]
                            ports.add(stream.get_extra_info("client_addr")[1])
                            answer.read()
                    return ports

            assert len(await asyncio.to_thread(send)) == 1
    assert {one.name for one in SIGNALS} == {"logs", "traces", "metrics"}
