"""A process announces once, on an inherited pipe, that it is ready."""

import os

import pytest

from workers.readiness import announce_ready


def test_it_writes_one_line_and_closes(monkeypatch: pytest.MonkeyPatch) -> None:
    read_end, write_end = os.pipe()
    monkeypatch.setenv("EXCLAVE_READY_FD", str(write_end))
    announce_ready()
    announce_ready()
    with os.fdopen(read_end, "rb") as pipe:
        assert pipe.read() == b"ready\n"
    assert "EXCLAVE_READY_FD" not in os.environ


@pytest.mark.parametrize("value", [None, "", "  "])
def test_unset_and_blank_mean_that_nobody_asks(
    monkeypatch: pytest.MonkeyPatch, value: str | None
) -> None:
    monkeypatch.delenv("EXCLAVE_READY_FD", raising=False)
    if value is not None:
        monkeypatch.setenv("EXCLAVE_READY_FD", value)
    announce_ready()


def test_whoever_asked_may_have_gone(monkeypatch: pytest.MonkeyPatch) -> None:
    read_end, write_end = os.pipe()
    os.close(read_end)
    monkeypatch.setenv("EXCLAVE_READY_FD", str(write_end))
    announce_ready()
    with pytest.raises(OSError, match="Bad file descriptor"):
        os.fstat(write_end)


@pytest.mark.parametrize("value", ["three", "987654"])
def test_a_wrong_descriptor_is_reported(monkeypatch: pytest.MonkeyPatch, value: str) -> None:
    monkeypatch.setenv("EXCLAVE_READY_FD", value)
    with pytest.raises(ValueError, match="EXCLAVE_READY_FD"):
        announce_ready()
