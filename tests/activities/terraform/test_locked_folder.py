"""The lock on a state in a folder: the system's own, which is released when its holder ends."""

import asyncio
import json
import subprocess
import sys
from pathlib import Path

import pytest

from activities.terraform.backends.registry import backend_of
from activities.terraform.locking import StateLocks
from contracts.errors import LockHeld
from tests.activities.terraform.terraform_site import Module, TerraformSite

HOLDER = """
import fcntl, sys
file = open(sys.argv[1], "r+b")
fcntl.lockf(file, fcntl.LOCK_EX)
print("held", flush=True)
sys.stdin.read()
"""

LOCK_INFO = {
    "ID": "1-2-3", "Operation": "OperationTypeApply", "Info": "", "Who": "ann@here",
    "Version": "1.11.4",
}  # fmt: skip


@pytest.fixture
async def site(tmp_path: Path) -> TerraformSite:
    made = TerraformSite(tmp_path)
    made.module = Module({"main.tf": 'resource "terraform_data" "r" {}\n'})
    await made.deploy()
    return made


def tell(site: TerraformSite, created: str) -> Path:
    """Writes the file that Terraform keeps beside a state that it has locked."""
    info = site.state.with_name(f".{site.state.name}.lock.info")
    info.write_text(json.dumps(LOCK_INFO | {"Created": created}))
    return info


def hold(site: TerraformSite) -> "subprocess.Popen[bytes]":
    """Starts a process that holds the lock until its standard input ends."""
    process = subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(site.state)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    assert process.stdout is not None
    process.stdout.readline()
    return process


def runs(site: TerraformSite) -> int:
    return len(list((site.data / "runs").rglob("output.log")))


async def test_what_a_dead_holder_left_is_no_lock(site: TerraformSite) -> None:
    tell(site, "2020-02-02T20:20:20Z")
    assert backend_of(site.store, "net").read_lock() is None
    _, plan = await site.plan()
    assert plan.empty


async def test_a_living_holder_is_waited_for_and_no_terraform_is_started(
    site: TerraformSite,
) -> None:
    before = runs(site)
    tell(site, "2999-09-09T09:09:09.123456789Z")
    said: list[str] = []
    locks = StateLocks.of(site.store, "net", site.folder, site.operations.machine, site.data)
    with hold(site) as holder:
        waiting = asyncio.create_task(locks.wait_until_free(said.append))
        planning = asyncio.create_task(site.plan())
        async with asyncio.timeout(60):
            while len(said) < 2:
                await asyncio.sleep(0.05)
        assert "waits for the state lock of ann@here since 2999-09-09 09:09:09 UTC" in said[0]
        assert runs(site) == before
        holder.communicate(timeout=60)
        await waiting
        _, plan = await planning
    assert plan.empty


async def test_one_who_holds_it_for_hours_is_reported(site: TerraformSite) -> None:
    before = runs(site)
    tell(site, "2020-02-02T20:20:20Z")
    with hold(site) as holder:
        with pytest.raises(LockHeld, match=r"ann@here .*or end it, which also releases its lock"):
            await site.plan()
        assert runs(site) == before
        holder.communicate(timeout=60)


async def test_a_run_that_always_loses_the_race_is_reported(
    site: TerraformSite, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = runs(site)

    async def sees_nobody(self: StateLocks, say: object) -> None:
        pass

    monkeypatch.setattr(StateLocks, "wait_until_free", sees_nobody)
    with hold(site) as holder:
        with pytest.raises(LockHeld, match="5 times before terraform plan could"):
            await site.plan()
        # One of them is `init`.
        assert runs(site) == before + 6
        holder.communicate(timeout=60)
