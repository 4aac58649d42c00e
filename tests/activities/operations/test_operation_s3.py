"""Operations whose store is in a bucket."""

import asyncio
import contextlib
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from activities.operations.opening import Operations
from store.journal import Outcome
from store.leases import Leases
from store.machine import Machine
from store.opening import s3_description
from store.s3 import S3Store
from store.s3_place import S3Place
from tests.activities.operations.operation_site import KEY, SUBJECT, Site, until
from tests.s3_server import S3Server

ROOT = Path(__file__).resolve().parents[3]
LEASE = f"leases/{SUBJECT}.json"


@pytest.fixture
def store(s3_server: S3Server, s3_environment: None) -> Iterator[S3Store]:
    place = S3Place(s3_server.make_bucket(), "acme", endpoint=s3_server.endpoint)
    with contextlib.closing(S3Store(place)) as store:
        yield store


def start(site: Site, store: S3Store, script: str) -> subprocess.Popen[bytes]:
    starter = Path(__file__).with_name("operation_starter.py")
    described = json.dumps(s3_description(store.s3_place()))
    return subprocess.Popen(
        [sys.executable, str(starter), str(site.root), KEY, SUBJECT, script],
        env={**os.environ, "PYTHONPATH": str(ROOT), "STORE": described},
    )


async def test_a_tool_whose_worker_was_killed_keeps_its_lease_and_is_attached_to(
    site: Site, store: S3Store
) -> None:
    script = "env > environment; touch up; until [ -e end ]; do sleep 0.05; done"
    worker = start(site, store, script)
    await site.mark("up")
    worker.kill()
    await asyncio.to_thread(worker.wait)

    taken = store.get(LEASE)
    assert taken is not None

    def renewed() -> bool:
        found = store.get(LEASE)
        return found is not None and found.etag != taken.etag

    await until(renewed)
    there = Leases(store, Machine("there", "boot"))
    assert there.acquire(SUBJECT, "another").machine == site.machine.id
    assert "AWS_" not in (site.marks / "environment").read_text(), "what is the worker's own"

    described = s3_description(store.s3_place())
    operations = Operations(store, described, site.data, site.machine)
    async with operations.open(KEY, SUBJECT, site.say) as operation:
        (site.marks / "end").touch()
        end = await operation.attach()
        assert end is not None
        assert end.succeeded()
        outcome = await operation.record_result({"done": True})
    assert outcome == Outcome(result={"done": True})
    assert store.list("leases/") == []
