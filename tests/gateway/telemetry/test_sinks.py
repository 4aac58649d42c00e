"""Telemetry reaches a collector that was away, or is stored in a file that can be queried."""

import asyncio
import json
import logging
import sqlite3
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest
from pydantic import ValidationError
from starlette.responses import Response

from gateway.telemetry.forwarding import PATIENCE, Forwarder
from gateway.telemetry.queue import Batch, TelemetryQueue
from gateway.telemetry.settings import TelemetrySection
from gateway.telemetry.signals import LOGS
from gateway.telemetry.store import StoreUnusable, TelemetryStore
from tests.gateway.gateway_parts import install
from tests.gateway.telemetry.otlp_site import (
    TRACE,
    Collector,
    TelemetrySite,
    logs,
    metrics,
    resource_of,
    traces,
)

QUICK = replace(PATIENCE, seconds=60, first_wait_seconds=0.01)


async def test_a_collector_that_refuses_for_a_while_gets_everything() -> None:
    collector = Collector(
        Response(status_code=503, headers={"Retry-After": "0"}),
        Response(status_code=429),
        Response(status_code=502, headers={"Retry-After": "Sat, 01 Jan 2022 00:00:00 GMT"}),
        Response(status_code=504, headers={"Retry-After": "nonsense"}),
    )
    with collector.served() as address:
        sink = Forwarder(f"{address}/", {"Authorization": "Bearer ours"}, patience=QUICK)
        async with TelemetrySite(sink).serving() as client:
            for path, request in (
                ("/v1/logs", logs("hello")),
                ("/v1/traces", traces()),
                ("/v1/metrics", metrics(1)),
            ):
                answer = await client.post(path, content=request.SerializeToString())
                assert answer.status_code == 200, "the worker does not wait for the collector"
    assert sorted(signal.name for signal, _ in collector.taken) == ["logs", "metrics", "traces"]
    for signal, request in collector.taken:
        assert ("exclave.install", "acme") in resource_of(signal, request)
    assert {one["authorization"] for one in collector.headers} == {"Bearer ours"}
    assert collector.asked == 7


async def test_while_the_collector_is_away_memory_is_bounded_and_the_oldest_goes(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gateway.telemetry.forwarding._SECONDS_BETWEEN_LINES", 0.0)
    sink = Forwarder("http://127.0.0.1:1", patience=replace(QUICK, seconds=0.2), at_once=1)
    body = logs("x" * 1000).SerializeToString()
    site = TelemetrySite(sink, queue_bytes=3 * len(body), queue_bytes_each=3 * len(body))
    async with site.serving() as client:
        taken = 0
        while (await client.post("/v1/logs", content=body)).status_code == 200:
            taken += 1
        assert 2 <= taken < 10
        await site.queue.empty()
        assert (await client.post("/v1/logs", content=body)).status_code == 200
    lines = [one.getMessage() for one in caplog.records if "dropped" in one.getMessage()]
    assert len(lines) == taken + 1
    assert all("http://127.0.0.1:1 did not accept 1 items" in line for line in lines)


async def test_what_the_collector_refuses_for_good_is_not_sent_again(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gateway.telemetry.forwarding._SECONDS_BETWEEN_LINES", 0.0)
    some = LOGS.response()
    some.partial_success.rejected_log_records = 1  # type: ignore[attr-defined]
    some.partial_success.error_message = "too old"  # type: ignore[attr-defined]
    collector = Collector(Response("no such tenant", 400), Response(some.SerializeToString()))
    with collector.served() as address:
        sink = Forwarder(address, patience=QUICK, at_once=1)
        async with TelemetrySite(sink).serving() as client:
            for _ in range(3):
                await client.post("/v1/logs", content=logs("a", "b").SerializeToString())
    assert collector.asked == 3
    assert "did not accept 2 items" in caplog.text and "no such tenant" in caplog.text
    assert "accepted all but 1 of 2 items: too old" in caplog.text


async def test_what_nobody_took_by_the_end_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    sink = Forwarder("http://127.0.0.1:1", patience=QUICK)
    async with TelemetrySite(sink).serving(drain_seconds=0.05) as client:
        await client.post("/v1/logs", content=logs("x").SerializeToString())
    assert "bytes of telemetry are lost" in caplog.text


async def test_the_store_can_be_searched(tmp_path: Path) -> None:
    path = tmp_path / "kept" / "telemetry.sqlite"
    async with TelemetrySite(TelemetryStore(path)).serving() as client:
        for where, request in (
            ("/v1/logs", logs("hello", "world", service__name="worker")),
            ("/v1/traces", traces("apply")),
            ("/v1/metrics", metrics(3)),
        ):
            await client.post(where, content=request.SerializeToString())
        other = {"Authorization": "Bearer other"}
        await client.post("/v1/logs", content=logs("theirs").SerializeToString(), headers=other)
    assert path.stat().st_mode & 0o777 == 0o600
    with closing(sqlite3.connect(path)) as database:

        def ask(what: str) -> list[tuple[object, ...]]:
            return database.execute(what).fetchall()

        assert ask(
            "SELECT signal, name, text FROM telemetry WHERE install = 'acme' ORDER BY signal, time"
        ) == [
            ("logs", "INFO", "hello"),
            ("logs", "INFO", "world"),
            ("metrics", "tools", json.dumps([{"timeUnixNano": "5", "asInt": "3"}])),
            ("traces", "apply", "error, 1.500 s engine failed"),
        ]
        assert ask(
            "SELECT DISTINCT attributes ->> '$.resource.\"service.name\"' FROM telemetry "
            "WHERE org = 'dev' AND signal = 'logs' AND install = 'acme'"
        ) == [("worker",)]
        assert len(ask(f"SELECT 1 FROM telemetry WHERE trace = '{TRACE.hex()}'")) == 4


def test_the_store_stays_below_its_limits(tmp_path: Path) -> None:
    now = 1_000_000.0
    limit = 300_000
    path = tmp_path / "telemetry.sqlite"
    store = TelemetryStore(path, limit, limit_seconds=1000, clock=lambda: now)
    request = logs(*(f"{number} {'x' * 500}" for number in range(50)))
    batch = Batch(LOGS, install("acme"), request.SerializeToString(), 50)
    with closing(sqlite3.connect(path)) as database:
        sizes = []
        for _ in range(60):
            store.keep(database, [batch])
            sizes.append(path.stat().st_size)
        assert max(sizes) < 3 * limit
        (rows,) = database.execute("SELECT count(*) FROM telemetry").fetchone()
        assert 0 < rows < 60 * 50
        now += 2000
        store.keep(database, [batch])
        (rows,) = database.execute("SELECT count(*) FROM telemetry").fetchone()
        assert rows == 50


async def test_while_the_disk_takes_nothing_senders_are_held_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("gateway.telemetry.store._TRY_AGAIN_SECONDS", 0.01)
    path = tmp_path / "telemetry.sqlite"
    store = TelemetryStore(path)
    body = logs("x" * 1000).SerializeToString()
    site = TelemetrySite(store, queue_bytes=3 * len(body), queue_bytes_each=3 * len(body))
    with closing(sqlite3.connect(path)) as other, caplog.at_level(logging.ERROR):
        async with site.serving() as client:
            other.execute("ALTER TABLE telemetry RENAME TO away")
            statuses = [(await client.post("/v1/logs", content=body)).status_code for _ in range(4)]
            assert statuses == [200, 200, 429, 429]
            other.execute("ALTER TABLE away RENAME TO telemetry")
            await site.queue.empty()
            assert (await client.post("/v1/logs", content=body)).status_code == 200
        assert other.execute("SELECT count(*) FROM telemetry").fetchone() == (3,)


def test_a_store_that_cannot_be_made_is_reported(tmp_path: Path) -> None:
    path = tmp_path / "telemetry.sqlite"
    path.write_text("this is no database, it is a text that somebody has left here")
    with pytest.raises(StoreUnusable, match="cannot be stored in"):
        TelemetryStore(path)


@pytest.fixture
def connections(monkeypatch: pytest.MonkeyPatch) -> list[sqlite3.Connection]:
    """Every connection that a store opens from now on."""
    opened: list[sqlite3.Connection] = []
    connect = sqlite3.connect

    def remembering(path: Path, *, check_same_thread: bool = True) -> sqlite3.Connection:
        opened.append(connect(path, check_same_thread=check_same_thread))
        return opened[-1]

    monkeypatch.setattr("gateway.telemetry.store.sqlite3.connect", remembering)
    return opened


def assert_closed(connections: list[sqlite3.Connection]) -> None:
    assert connections
    for connection in connections:
        with pytest.raises(sqlite3.ProgrammingError, match="closed"):
            connection.execute("SELECT 1")


def test_a_store_that_cannot_be_made_leaves_no_connection(
    tmp_path: Path, connections: list[sqlite3.Connection]
) -> None:
    path = tmp_path / "telemetry.sqlite"
    path.write_text("this is no database, it is a text that somebody has left here")
    with pytest.raises(StoreUnusable):
        TelemetryStore(path)
    assert_closed(connections)


async def test_a_store_that_is_cancelled_while_it_connects_leaves_none_either(
    tmp_path: Path, connections: list[sqlite3.Connection]
) -> None:
    store = TelemetryStore(tmp_path / "telemetry.sqlite")
    running = asyncio.create_task(store.run(TelemetryQueue(100, 100)))
    await asyncio.sleep(0)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert len(connections) == 2
    assert_closed(connections)


async def test_all_that_waits_is_counted() -> None:
    queue = TelemetryQueue(100, 100)
    batches = [Batch(LOGS, install("acme"), bytes(10), 1) for _ in range(3)]
    for batch in batches:
        queue.put(batch)
    assert [await queue.take(), *queue.take_now(9)] == batches
    assert queue.held_bytes == 30
    for batch in batches:
        queue.done(batch)
    await queue.empty()
    assert queue.held_bytes == 0


def test_settings_name_one_place(tmp_path: Path) -> None:
    for wrong in (
        {},
        {"collector": "http://c", "store": "s"},
        {"store": "s", "authorization": "a"},
        {"collector": "http://c", "authorization": "a"},
        {"collector": "c:4318"},
    ):
        with pytest.raises(ValidationError):
            TelemetrySection.model_validate(wrong)
    (tmp_path / "word").write_text("Bearer x\n")
    section = TelemetrySection.model_validate(
        {"collector": "https://c", "authorization": "word"}, context=tmp_path
    )
    sink = section.sink()
    assert isinstance(sink, Forwarder)
    assert sink.headers == {"Authorization": "Bearer x"}
    assert isinstance(
        TelemetrySection.model_validate({"store": "s"}, context=tmp_path).sink(), TelemetryStore
    )
