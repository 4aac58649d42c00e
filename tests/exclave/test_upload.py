"""`exclave upload` and `exclave enrolment`, as a person types them."""

import asyncio
import json
import socket
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from typer.testing import CliRunner

from contracts.names import DIGEST_PATTERN
from exclave.main import app
from stacks.enrolment import Enrolment
from workers.registry import listen, serve

SHOP = Path(__file__).parents[2] / "examples" / "shop"

run = CliRunner().invoke


@pytest.fixture
def registry(tmp_path: Path, monkeypatch) -> Iterator[str]:
    """The URL of a registry that takes pushes; it is served from a thread of its own."""
    push, pull = listen("127.0.0.1:0"), listen("127.0.0.1:0")
    host, port = push.getsockname()
    loop = asyncio.new_event_loop()
    # Signal handlers are for the main thread.
    monkeypatch.setattr("workers.registry._SIGNALS", ())
    serving = loop.create_task(serve(tmp_path / "registry", push, pull))

    def until_cancelled() -> None:
        with loop_closed(loop):
            loop.run_until_complete(asyncio.gather(serving, return_exceptions=True))

    thread = threading.Thread(target=until_cancelled)
    thread.start()
    yield f"http://{host}:{port}"
    loop.call_soon_threadsafe(serving.cancel)
    thread.join()
