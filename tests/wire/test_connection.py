"""Connecting waits, logs what it waits for, and can be cancelled."""

import asyncio
import logging
import socket
from collections.abc import Iterator

import pytest

from wire import connection
from wire.connection import TemporalAddress, connect, connect_once


@pytest.fixture
def nowhere() -> Iterator[TemporalAddress]:
    """An address at which nobody listens, and which nobody else can take meanwhile."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        yield TemporalAddress(f"127.0.0.1:{taken.getsockname()[1]}", "acme")


async def test_an_address_that_does_not_answer_raises_at_once(nowhere: TemporalAddress) -> None:
    async with asyncio.timeout(5):
        with pytest.raises(RuntimeError):
            await connect_once(nowhere)


async def test_it_waits_and_says_for_what(
    nowhere: TemporalAddress, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connection, "delays", lambda: iter([0.01, 0.02, 3600]))
    caplog.set_level(logging.WARNING, "wire.connection")
    connecting = asyncio.create_task(connect(nowhere))
    async with asyncio.timeout(10):
        while len(caplog.messages) < 3:
            await asyncio.sleep(0.01)
    assert not connecting.done()
    connecting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await connecting
    for message in caplog.messages:
        assert message.startswith(
            f"Waiting for the control plane at {nowhere.address} (namespace acme): "
        )
        assert "Connection refused" in message
        assert len(message) < 300, "the innermost words, not the whole chain"
    assert caplog.messages[2].endswith("Trying again in 3600 s.")


async def test_it_connects_as_soon_as_somebody_is_there(
    nowhere: TemporalAddress, monkeypatch: pytest.MonkeyPatch
) -> None:
    answers: list[object] = [RuntimeError("not yet"), RuntimeError("not yet"), "a client"]

    async def once(where: TemporalAddress, keys: object, *, patient: bool) -> object:
        assert (where, patient) == (nowhere, True)
        answer = answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer

    monkeypatch.setattr(connection, "connect_once", once)
    monkeypatch.setattr(connection, "delays", lambda: iter([0.0] * 5))
    assert await connect(nowhere, patient=True) == "a client"  # type: ignore[comparison-overlap]


async def test_another_error_is_not_waited_out(
    nowhere: TemporalAddress, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def once(where: TemporalAddress, keys: object, *, patient: bool) -> object:
        raise TypeError("a fault of ours")

    monkeypatch.setattr(connection, "connect_once", once)
    with pytest.raises(TypeError):
        await connect(nowhere)


def test_delays_grow_and_stay_short() -> None:
    waits = connection.delays()
    found = [next(waits) for _ in range(20)]
    assert found[:4] == [1, 2, 4, 8]
    assert set(found[4:]) == {15}


def test_where_the_control_plane_is(
    monkeypatch: pytest.MonkeyPatch, tmp_path: pytest.TempPathFactory
) -> None:
    for name in ("TEMPORAL_ADDRESS", "TEMPORAL_NAMESPACE", "TEMPORAL_PROFILE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TEMPORAL_CONFIG_FILE", f"{tmp_path}/none.toml")
    assert TemporalAddress.from_environment() == TemporalAddress("127.0.0.1:7233", "dev")
    monkeypatch.setenv("TEMPORAL_ADDRESS", "temporal:7233")
    monkeypatch.setenv("TEMPORAL_NAMESPACE", "acme")
    assert TemporalAddress.from_environment() == TemporalAddress("temporal:7233", "acme")
    flags = TemporalAddress.from_environment("other:1", "org")
    assert flags == TemporalAddress("other:1", "org")
