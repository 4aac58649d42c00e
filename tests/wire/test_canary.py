"""A secret in every kind of payload is found in no file of Temporal and in no log."""

import logging
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
import told
from temporalio.client import Client
from temporalio.testing import WorkflowEnvironment

from wire.connection import TemporalAddress, connect_once
from wire.key_ring import KeyRing
from wire.keys import MasterKeys
from workers.log_lines import WordlessExceptions

pytestmark = pytest.mark.process

PASSING = {
    *("query-input", "query-result", "current-details", "update-refusal"),
    *("heartbeat", "local-input"),
}
"""What never is in a history: answers, what was refused, what stays in a worker. A heartbeat lies
in the database until the next."""


@asynccontextmanager
async def temporal(folder: Path) -> AsyncIterator[str]:
    """A server with its database in a file; its address."""
    async with await WorkflowEnvironment.start_local(
        namespace="dev",
        dev_server_existing_path=str(Path(sys.executable).with_name("temporal")),
        dev_server_database_filename=str(folder / "temporal.db"),
        dev_server_log_level="info",
        dev_server_extra_args=[
            *("--dynamic-config-value", "history.transferProcessorMaxPollRPS=1000"),
        ],
    ) as environment:
        yield environment.client.service_client.config.target_host


@asynccontextmanager
async def logging_to(file: Path) -> AsyncIterator[None]:
    """Everything that is logged, also by the SDK, as a worker's process writes it."""
    handler = logging.FileHandler(file)
    handler.setFormatter(WordlessExceptions("%(asctime)s %(levelname)s %(name)s: %(message)s"))
    root = logging.getLogger()
    before = root.level
    root.addHandler(handler)
    root.setLevel(logging.INFO)
    try:
        yield
    finally:
        root.setLevel(before)
        root.removeHandler(handler)
        handler.close()


async def the_story(address: str, keys: MasterKeys | None) -> None:
    where = TemporalAddress(address, "dev")
    control: Client = await connect_once(where, KeyRing(keys) if keys else None)
    install = await connect_once(where, KeyRing(keys.for_install("dev", "acme")) if keys else None)
    async with told.control_worker(control), told.install_worker(install):
        await told.tell_story(control)


@pytest.mark.parametrize("encrypted", [False, True])
async def test_no_secret_is_found(tmp_path: Path, encrypted: bool) -> None:
    told.forget()
    async with logging_to(tmp_path / "workers.log"), temporal(tmp_path) as address:
        await the_story(address, MasterKeys.new() if encrypted else None)
    assert (tmp_path / "temporal.db").stat().st_size > 100_000
    assert "Completing activity as failed" in (tmp_path / "workers.log").read_text()
    found = told.found_in(tmp_path)
    if encrypted:
        assert found == {}, "readable"
    else:
        missed = told.SECRET.made.keys() - found.keys()
        assert missed <= PASSING, "the search finds what is there"
