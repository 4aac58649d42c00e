"""A worker waits for its store before it takes work, and logs what it waits for."""

import asyncio
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from stacks.enrolment import Enrolment
from store.checking import check_store
from store.folder import FolderStore
from tests.s3_faults import Way, refused, way_to
from tests.s3_server import S3Server
from tests.small_disk import fill, small_disk
from workers.store_check import usable

ROOT = Path(__file__).resolve().parents[2]

pytestmark = pytest.mark.process


@pytest.fixture
def way(s3_server: S3Server) -> Iterator[Way]:
    with way_to(s3_server.endpoint) as way:
        yield way


class Worker:
    """A real worker whose control plane is away, so that only its start is tested."""

    def __init__(self, folder: Path, enrolment: Enrolment) -> None:
        file = folder / "acme.toml"
        file.write_text(enrolment.render())
        self.process = subprocess.Popen(
            [
                sys.executable,
                "-m",
                "workers.exclave_worker",
                str(file),
                "--data",
                str(folder / "data"),
            ],
            cwd=ROOT,
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONUNBUFFERED": "1"},
        )

    def says(self, words: str) -> str:
        """The next line that contains these words."""
        assert self.process.stderr is not None
        for line in self.process.stderr:
            if words in line:
                return line
        raise AssertionError(f"the worker ended without a word of {words!r}")

    def leave(self) -> int:
        self.process.send_signal(signal.SIGTERM)
        with self.process:
            return self.process.wait(30)


@pytest.fixture
def enrolment(s3_server: S3Server, s3_environment: None, way: Way) -> Enrolment:
    return Enrolment.of(
        install="acme",
        namespace="dev",
        temporal="127.0.0.1:1",
        releases="http://127.0.0.1:1",
        store=f"s3://{s3_server.make_bucket()}/acme",
        store_endpoint=way.endpoint,
    )


def test_a_store_that_cannot_be_used_is_waited_for(
    tmp_path: Path, enrolment: Enrolment, way: Way
) -> None:
    way.look = lambda request: refused(403, "AccessDenied")
    worker = Worker(tmp_path, enrolment)
    line = worker.says("No work is taken")
    assert f"the store {enrolment.store} at {way.endpoint} cannot be used" in line
    assert "s3:PutObject" in line
    assert "Trying again in 1 s" in line
    way.look = lambda request: None
    worker.says("Waiting for the control plane")
    assert worker.leave() == 0


def test_a_worker_whose_store_keeps_silent_leaves_at_once(
    tmp_path: Path, enrolment: Enrolment
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        endpoint = f"http://127.0.0.1:{silent.getsockname()[1]}"
        worker = Worker(tmp_path, enrolment.model_copy(update={"store_endpoint": endpoint}))
        connection, _ = silent.accept()
        with connection:
            assert worker.leave() == 0, "without waiting for the store's timeout of a minute"


def test_a_folder_that_cannot_be_used_is_waited_for(tmp_path: Path) -> None:
    plain = Enrolment.of(
        install="acme", namespace="dev", temporal="127.0.0.1:1", releases="http://127.0.0.1:1"
    )
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "store").write_text("in the way")
    worker = Worker(tmp_path, plain)
    worker.says("No work is taken: the store in")
    (tmp_path / "data" / "store").unlink()
    worker.says("Waiting for the control plane")
    assert worker.leave() == 0


async def test_a_full_disk_is_no_reason_to_take_no_work(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Otherwise it would look like a worker that is away. Work that needs space reports it."""
    with small_disk(tmp_path / "disk") as disk:
        store = FolderStore(disk / "store")
        check_store(store)
        fill(disk)
        async with asyncio.timeout(30):
            await usable(store)
    assert "Work that needs space waits" in caplog.text
