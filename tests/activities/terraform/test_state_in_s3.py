"""Terraform's state in a bucket: its locks, whose holders live or do not, and writes that fail."""

import asyncio
import json
import os
import signal
import socket
import subprocess
import time
from datetime import UTC, datetime
from pathlib import Path

import pytest
from s3_faults import BROKEN, Fault, Request, way_to
from s3_server import S3Server
from terraform_site import Module, TerraformSite

from activities.terraform.state_file import state_key
from activities.terraform.state_lock import StateLock, StateLocks
from contracts.errors import Unreachable
from store.interface import ANY, StoreUnavailable
from store.s3_place import S3Place

LOCK = f"{state_key('net')}.tflock"

pytestmark = pytest.mark.usefixtures("s3_environment")


def place(server: S3Server, endpoint: str | None = None) -> S3Place:
    return S3Place(server.make_bucket(), "acme", "us-east-1", endpoint or server.endpoint)


def module(lines: Path, seconds: float = 0.0) -> Module:
    return Module(
        {
            "main.tf": f"""
                resource "terraform_data" "r" {{
                  provisioner "local-exec" {{
                    command = "echo begun >> {lines}; sleep {seconds}; echo done >> {lines}"
                  }}
                }}
                output "id" {{ value = terraform_data.r.id }}
            """
        }
    )


@pytest.fixture
def site(tmp_path: Path, s3_server: S3Server) -> TerraformSite:
    made = TerraformSite(tmp_path, place(s3_server))
    made.module = module(tmp_path / "lines")
    return made


def locks(site: TerraformSite) -> StateLocks:
    return StateLocks(site.store, site.operations.machine, site.data)


def lock(site: TerraformSite, who: str, created: float) -> StateLock:
    """A lock as Terraform writes it."""
    when = datetime.fromtimestamp(created, UTC).strftime("%Y-%m-%dT%H:%M:%S.123456789Z")
    told = {"ID": "1-2-3", "Operation": "OperationTypeApply", "Who": who, "Created": when}
    site.store.put(LOCK, json.dumps(told).encode(), if_match=ANY)
    found = locks(site).read("net")
    assert found is not None
    return found


async def test_state_and_lock_lie_in_the_bucket(site: TerraformSite, tmp_path: Path) -> None:
    applied = await site.deploy()
    assert "id" in applied.outputs.values
    found = site.store.get(state_key("net"))
    assert found is not None
    assert json.loads(found.data)["outputs"]["id"]["value"] == applied.outputs.values["id"]
    assert site.store.get(LOCK) is None
    assert not list(tmp_path.rglob("terraform.tfstate.backup"))
    _, again = await site.plan()
    assert again.empty


async def test_no_credential_is_left_in_a_file(site: TerraformSite, tmp_path: Path) -> None:
    await site.deploy()
    secret = os.environ["AWS_SECRET_ACCESS_KEY"].encode()
    holding = [p for p in site.data.rglob("*") if p.is_file() and secret in p.read_bytes()]
    assert holding == []


async def until(path: Path, word: str) -> None:
    async with asyncio.timeout(60):
        while not path.exists() or word not in path.read_text():
            await asyncio.sleep(0.05)


def terraform_pids(site: TerraformSite) -> list[int]:
    found = []
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            command = (entry / "cmdline").read_bytes().split(b"\0")
            here = (entry / "cwd").readlink() == site.folder
        except OSError:
            continue
        if here and command[:2][-1:] == [b"apply"]:
            found.append(int(entry.name))
    return found


async def test_the_lock_of_a_killed_tool_is_broken_once_and_the_rest_applied(
    site: TerraformSite, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    site.module = module(tmp_path / "lines", seconds=2)
    applying = asyncio.create_task(site.deploy())
    await until(tmp_path / "lines", "begun")
    held = locks(site).read("net")
    assert held is not None
    for pid in terraform_pids(site):
        os.kill(pid, signal.SIGKILL)
    # The same attempt goes on: it sees that its tool died, and plans what is left.
    applied = await applying
    assert "id" in applied.outputs.values
    assert site.store.get(LOCK) is None
    broken = [one.message for one in caplog.records if "broke the state lock" in one.message]
    assert len(broken) == 1
    assert held.id in broken[0]
    assert "made by our own apply" in broken[0]


async def test_a_living_holder_is_waited_for_and_named(site: TerraformSite, tmp_path: Path) -> None:
    await site.deploy()
    lines, fifo = tmp_path / "lines", tmp_path / "fifo"
    os.mkfifo(fifo)
    by_hand = _apply_by_hand(site, tmp_path / "by-hand", f"echo by-hand >> {lines}; cat {fifo}")
    await until(lines, "by-hand")
    held = locks(site).read("net")
    assert held is not None
    said: list[str] = []
    waiting = asyncio.create_task(locks(site).wait_until_free("net", said.append))
    while not said:
        await asyncio.sleep(0.05)
    assert str(held) in said[0]
    assert held.host == socket.gethostname()
    planning = asyncio.create_task(site.plan())
    await asyncio.sleep(2)
    assert not waiting.done()
    assert not planning.done()
    assert locks(site).read("net") == held
    await asyncio.to_thread(fifo.write_text, "go on")
    assert await asyncio.to_thread(by_hand.wait, 60) == 0
    await waiting
    _, plan = await planning
    # What was made by hand is not in the module, and would be deleted.
    assert plan.changes.delete == 1


def _apply_by_hand(site: TerraformSite, folder: Path, command: str) -> subprocess.Popen[bytes]:
    """Somebody's own Terraform, in a folder of their own, on the same state."""
    folder.mkdir()
    override = (site.folder / "exclave_backend_override.tf.json").read_text()
    (folder / "backend_override.tf.json").write_text(override)
    (folder / "main.tf").write_text(
        'terraform { \n backend "s3" {} \n}\n'
        f'resource "terraform_data" "by_hand" {{\n provisioner "local-exec" {{\n'
        f' command = "{command}"\n }}\n}}\n'
        "removed {\n from = terraform_data.r\n lifecycle { destroy = false }\n}\n"
    )
    environment = {**os.environ, "TF_CLI_CONFIG_FILE": os.devnull, "CHECKPOINT_DISABLE": "1"}
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    subprocess.run(
        ["terraform", "init", "-input=false"], cwd=folder, env=environment, check=True, **quiet
    )
    return subprocess.Popen(
        ["terraform", "apply", "-auto-approve", "-input=false"],
        cwd=folder,
        env=environment,
        **quiet,
    )


async def test_a_lock_that_nothing_of_ours_made_is_not_broken(site: TerraformSite) -> None:
    await site.deploy()
    now, here = time.time(), socket.gethostname()
    [run] = [r for r in _runs(site) if r.label == "apply"]
    for found in (
        # Of a machine that we do not know of; before and long after anything of ours.
        lock(site, "ann@laptop", run.at + 1),
        lock(site, f"root@{here}", run.at - 3600),
        lock(site, f"root@{here}", now + 3 * 3600),
    ):
        assert locks(site).proof_of_death("net", found) is None
    assert locks(site).proof_of_death("net", lock(site, f"root@{here}", run.at + 1)) is not None
    assert locks(site).proof_of_death("other", lock(site, f"root@{here}", run.at + 1)) is None


def _runs(site: TerraformSite) -> list[object]:
    return list(locks(site)._runs("net"))


async def test_what_is_no_lock_is_waited_for(site: TerraformSite) -> None:
    site.store.put(LOCK, b"{}", if_match=ANY)
    found = locks(site).read("net")
    assert found is not None
    assert locks(site).proof_of_death("net", found) is None


async def test_a_state_that_cannot_be_written_is_kept_and_put_in_its_place_later(
    tmp_path: Path, s3_server: S3Server
) -> None:
    with way_to(s3_server.endpoint) as way:
        site = TerraformSite(tmp_path, place(s3_server, way.endpoint))
        lines = tmp_path / "lines"
        site.module = module(lines, seconds=1)
        plan_key, plan = await site.plan()
        applying = asyncio.create_task(site.apply(plan_key, plan, key="run/net/apply/same"))
        await until(lines, "begun")
        way.look = _no_state_is_written
        with pytest.raises(Unreachable, match="kept on the worker's machine"):
            await applying
        assert (site.folder / "errored.tfstate").exists()
        with pytest.raises(StoreUnavailable):
            await site.apply(plan_key, plan, key="run/net/apply/same")
        assert (site.folder / "errored.tfstate").exists()
        way.look = lambda request: None
        applied = await site.apply(plan_key, plan, key="run/net/apply/same")
    assert not (site.folder / "errored.tfstate").exists()
    assert "id" in applied.outputs.values
    assert lines.read_text().split() == ["begun", "done"]


def _no_state_is_written(request: Request) -> Fault | None:
    path = request.path.partition("?")[0]
    return BROKEN if request.method == "PUT" and path.endswith("terraform.tfstate") else None
