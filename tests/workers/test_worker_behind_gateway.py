"""An install worker that knows only the gateway: enrolled, at work, paused, revoked, restored."""

import json
import re
import sqlite3
import time
from collections.abc import AsyncIterator
from contextlib import closing
from datetime import timedelta
from pathlib import Path
from uuid import uuid4

import pytest

# First, since it sets up the modules of the gateway's tests.
from tests.workers.behind_gateway import Running, gateway_settings, running  # isort: split

from temporalio.client import ActivityFailureError
from temporalio.exceptions import ApplicationError

from activities.access.activities import no_payload_keys
from contracts.installs import DESCRIBE, DescribeInput
from contracts.logs import READ_LOG, ReadLog
from contracts.messages import WorkerDescription
from contracts.names import install_queue
from stacks.enrolment import TOKEN_FILE, Enrolment
from store import pausing
from tests.gateway.enrolment_site import ORG, Org, controlled, temporal
from wire.enrolment.worker_identity import WorkerIdentity
from workers.span_traces import trace_of

pytestmark = pytest.mark.process


@pytest.fixture
async def org() -> AsyncIterator[Org]:
    async with (
        temporal() as client,
        controlled(client, time.time, payload_keys=no_payload_keys) as found,
    ):
        yield found


def stack(folder: Path, gateway: str, ca: Path, org: Org) -> Path:
    """The files that the customer has put on the machine."""
    enrolment = Enrolment.of(
        install="acme",
        namespace=ORG,
        temporal=gateway,
        releases=f"https://{gateway}",
        gateway=f"https://{gateway}",
        gateway_ca=ca.read_text(),
        control_key=org.authority.public,
    )
    folder.mkdir()
    (folder / "enrolment.toml").write_text(enrolment.render())
    (folder / TOKEN_FILE).write_text(org.token("install/acme").render() + "\n")
    return folder / "enrolment.toml"


async def describe(org: Org, seconds: float = 60) -> WorkerDescription:
    """Ask by a standalone activity on the install's queue."""
    described: WorkerDescription = await org.client.execute_activity(
        DESCRIBE.name,
        DescribeInput(install="acme"),
        id=uuid4().hex,
        task_queue=install_queue("acme"),
        result_type=WorkerDescription,
        start_to_close_timeout=timedelta(seconds=20),
        schedule_to_start_timeout=timedelta(seconds=seconds),
    )
    return described


async def ask_for_a_log(org: Org) -> None:
    """Ask for the log of an operation that does not exist: it is refused, but leaves a trace."""
    with pytest.raises(ActivityFailureError) as refused:
        await org.client.execute_activity(
            READ_LOG.name,
            ReadLog(install="acme", key="x"),
            id=uuid4().hex,
            task_queue=install_queue("acme"),
            start_to_close_timeout=timedelta(seconds=20),
        )
    assert isinstance(refused.value.cause, ApplicationError)
    assert refused.value.cause.type == "BadInput"


def maps(running: Running, part: str) -> bool:
    """Whether a process has mapped a library with this text in its path."""
    return part in Path(f"/proc/{running.process.pid}/maps").read_text()


def each_has_sent_spans(telemetry: Path, data: Path) -> None:
    """A worker that has exited has sent all its spans, marked by the gateway as its own."""
    with closing(sqlite3.connect(telemetry)) as database:
        rows = database.execute("SELECT name, install, org, key, trace, attributes FROM telemetry")
        found = list(rows)
    # Describing itself leaves no trace, since an idle worker does not import OpenTelemetry.
    assert {one[:3] for one in found} == {(READ_LOG.name, "acme", ORG)}
    assert {one[3] for one in found} == {WorkerIdentity.open(data / "identity").thumbprint}
    runs = [json.loads(one[5])["temporalRunID"] for one in found]
    assert all(runs) and len(found) == len(set(runs)) == 2
    for run, (*_, trace, _) in zip(runs, found, strict=True):
        assert trace == f"{trace_of(run).trace_id:032x}"


async def test_a_worker_s_life_behind_the_gateway(
    org: Org, tmp_path: Path, unused_tcp_port: int
) -> None:
    telemetry = '[telemetry]\nstore = "telemetry.db"\n'
    settings = gateway_settings(tmp_path, unused_tcp_port, org.address, telemetry)
    data = tmp_path / "data"
    enrolment = stack(tmp_path / "stack", f"127.0.0.1:{unused_tcp_port}", tmp_path / "ca.pem", org)
    token = (enrolment.parent / TOKEN_FILE).read_text().strip()
    argv = ("workers.exclave_worker", str(enrolment), "--data", str(data))
    with running(tmp_path / "gateway.log", "workers.gateway_main", str(settings)) as gateway:
        await gateway.says("Serving at")
        with running(tmp_path / "worker.log", *argv) as worker:
            await worker.says("This worker is enrolled as install/acme")
            await worker.says("Working on the queue install.acme")
            assert (await describe(org)).protocol
            # It works without some modules that the SDK would import (workers/unused_imports.py).
            assert not maps(worker, "/grpc/")
            assert maps(gateway, "/grpc/")

            pausing.pause(data)
            await worker.says("Paused on this machine")
            with pytest.raises(ActivityFailureError):
                await describe(org, seconds=1)
            pausing.resume(data)
            assert (await describe(org)).protocol

            await org.update("revoke", "install/acme")
            await gateway.says("is revoked now")
            with pytest.raises(ActivityFailureError):
                await describe(org, seconds=1)
            await org.update("restore", "install/acme")
            assert (await describe(org)).protocol

            await org.update("pause", "install/acme")
            await gateway.says("is paused now")
            with pytest.raises(ActivityFailureError):
                await describe(org, seconds=1)
            await org.update("resume", "install/acme")
            assert (await describe(org)).protocol
            await ask_for_a_log(org)

            process = Path(f"/proc/{worker.process.pid}")
            seen = (process / "cmdline").read_bytes() + (process / "environ").read_bytes()
        # Its token is used up and not needed any more.
        (enrolment.parent / TOKEN_FILE).unlink()
        with running(tmp_path / "again.log", *argv) as worker:
            await worker.says("Working on the queue install.acme")
            assert (await describe(org)).protocol
            await ask_for_a_log(org)
    each_has_sent_spans(tmp_path / "telemetry.db", data)
    printed = b"".join(log.read_bytes() for log in tmp_path.glob("*.log")) + seen
    assert token.partition(".")[2].encode() not in printed
    # A credential is a JWT, and so is the worker's request for one.
    assert not re.search(rb"eyJ[\w-]+\.eyJ[\w-]+\.", printed)
    assert b"PRIVATE KEY" not in printed
    names = [one.name for one in (data / "identity").iterdir()]
    assert sorted(names) == ["enrolled.json", "keys.pem"]
    assert all((data / "identity" / one).stat().st_mode & 0o077 == 0 for one in names)
