"""Terraform's state in a bucket: locks whose holders are alive or dead, and writes that fail."""

import asyncio
import json
import os
import signal
import socket
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from activities.secrets.masking import MASK
from activities.terraform.backends import s3
from activities.terraform.locking import StateLocks
from activities.terraform.state_keys import lock_key, state_key
from contracts.errors import EngineFailed, LockHeld, Unreachable
from store.errors import StoreUnavailable
from store.interface import ANY
from store.s3_place import S3Place
from tests.activities.terraform.terraform_site import Module, TerraformSite
from tests.s3_faults import BROKEN, Fault, Request, Way, refused, way_to
from tests.s3_server import S3Server
from tests.terraform import the_terraform

LOCK = lock_key("net")

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


@pytest.fixture(autouse=True)
def _asked_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fewer tries, since Terraform would try a failing bucket five times, which takes 20 s."""
    monkeypatch.setattr(s3, "MOST_TRIES", 2)


@pytest.fixture
def site(tmp_path: Path, s3_server: S3Server) -> TerraformSite:
    made = TerraformSite(tmp_path, place(s3_server))
    made.module = module(tmp_path / "lines")
    return made


def locks(site: TerraformSite) -> StateLocks:
    return StateLocks.of(site.store, "net", site.folder, site.operations.machine, site.data)


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
    held = locks(site).read()
    assert held is not None
    for pid in terraform_pids(site):
        os.kill(pid, signal.SIGKILL)
    # The same attempt goes on: it notices that its tool died, and plans what remains.
    applied = await applying
    assert "id" in applied.outputs.values
    assert site.store.get(LOCK) is None
    broken = [one.message for one in caplog.records if "broke the state lock" in one.message]
    assert len(broken) == 1
    assert held.id in broken[0]
    assert "our own apply of" in broken[0]


async def test_a_living_holder_is_waited_for_and_named(site: TerraformSite, tmp_path: Path) -> None:
    await site.deploy()
    lines, fifo = tmp_path / "lines", tmp_path / "fifo"
    os.mkfifo(fifo)
    folder = _folder_by_hand(site, tmp_path / "by-hand", f"echo by-hand >> {lines}; cat {fifo}")
    with _applying_in(folder) as by_hand:
        await until(lines, "by-hand")
        held = locks(site).read()
        assert held is not None
        said: list[str] = []
        waiting = asyncio.create_task(locks(site).wait_until_free(said.append))
        planning = asyncio.create_task(site.plan())
        async with asyncio.timeout(60):
            # Checked twice, with a pause in between.
            while len(said) < 2:
                await asyncio.sleep(0.05)
        assert str(held) in said[0]
        assert held.host == socket.gethostname()
        assert not waiting.done()
        assert not planning.done()
        assert locks(site).read() == held
        await asyncio.to_thread(fifo.write_text, "go on")
        assert await asyncio.to_thread(by_hand.wait, 60) == 0
        await waiting
        _, plan = await planning
    # What was created by hand is not in the module, and would be deleted.
    assert plan.changes.delete == 1


BY_HAND = {"TF_CLI_CONFIG_FILE": os.devnull, "CHECKPOINT_DISABLE": "1"}


def _folder_by_hand(site: TerraformSite, folder: Path, command: str) -> Path:
    """Somebody's own folder for Terraform, on the same state."""
    folder.mkdir()
    override = (site.folder / "exclave_backend_override.tf.json").read_text()
    (folder / "backend_override.tf.json").write_text(override)
    (folder / "main.tf").write_text(
        'terraform { \n backend "s3" {} \n}\n'
        f'resource "terraform_data" "by_hand" {{\n provisioner "local-exec" {{\n'
        f' command = "{command}"\n }}\n}}\n'
        "removed {\n from = terraform_data.r\n lifecycle { destroy = false }\n}\n"
    )
    subprocess.run(
        [the_terraform(), "init", "-input=false"],
        cwd=folder,
        env=os.environ | BY_HAND,
        check=True,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    return folder


@contextmanager
def _applying_in(folder: Path) -> Iterator[subprocess.Popen[bytes]]:
    """Somebody's own `terraform apply`, which is ended with its children when the block ends."""
    process = subprocess.Popen(
        [the_terraform(), "apply", "-auto-approve", "-input=false"],
        cwd=folder,
        env=os.environ | BY_HAND,
        start_new_session=True,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    with process:
        try:
            yield process
        finally:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)


async def test_while_a_terraform_has_the_state_open_its_lock_is_not_broken(
    site: TerraformSite, tmp_path: Path
) -> None:
    site.module = module(tmp_path / "lines", seconds=2)
    applying = asyncio.create_task(site.deploy())
    await until(tmp_path / "lines", "begun")
    made = locks(site).read()
    assert made is not None
    # As if everything had been killed: nothing shows that the run has ended.
    assert locks(site).proof_of_origin(made) is not None
    assert locks(site).backend.may_be_open()
    await applying
    assert locks(site).proof_of_origin(made) is not None
    assert not locks(site).backend.may_be_open()


async def test_a_lock_after_our_run_ended_is_not_ours(site: TerraformSite, tmp_path: Path) -> None:
    await site.deploy()
    lines, fifo = tmp_path / "lines", tmp_path / "fifo"
    os.mkfifo(fifo)
    (site.folder / "by_hand.tf").write_text(
        'resource "terraform_data" "by_hand" {\n provisioner "local-exec" {\n'
        f' command = "echo by-hand >> {lines}; cat {fifo}"\n }}\n}}\n'
    )
    with _applying_in(site.folder) as by_hand:
        await until(lines, "by-hand")
        held = locks(site).read()
        assert held is not None
        assert locks(site).proof_of_origin(held) is None
        await asyncio.to_thread(fifo.write_text, "go on")
        assert await asyncio.to_thread(by_hand.wait, 60) == 0


async def test_an_old_lock_is_reported_with_the_way_out(site: TerraformSite) -> None:
    await site.deploy()
    info = {"ID": "1-2-3", "Operation": "OperationTypeApply", "Who": "ann@laptop",
            "Created": "2020-02-02T20:20:20.123456789Z"}  # fmt: skip
    site.store.put(LOCK, json.dumps(info).encode(), if_match=ANY)
    runs = len(list((site.data / "runs").rglob("output.log")))
    with pytest.raises(LockHeld) as caught:
        await site.plan()
    for word in ("ann@laptop", "2020-02-02 20:20:20", "Apply", "force-unlock -force 1-2-3",
                 str(site.folder)):  # fmt: skip
        assert word in caught.value.message
    assert len(list((site.data / "runs").rglob("output.log"))) == runs
    site.store.put(LOCK, b"{}", if_match=ANY)
    with pytest.raises(LockHeld, match="aws s3 rm s3://"):
        await site.plan()
    assert site.store.get(LOCK) is not None


async def test_a_lock_of_a_worker_that_died_is_broken(site: TerraformSite) -> None:
    await site.deploy()
    with pytest.raises(ZeroDivisionError), locks(site).hold("tests"):
        assert locks(site).read() is not None
        raise ZeroDivisionError
    assert locks(site).read() is None
    taken = locks(site).hold("tests")
    taken.__enter__()
    held = locks(site).read()
    assert held is not None
    assert held.host == socket.gethostname()
    await locks(site).wait_until_free(lambda text: None)
    assert locks(site).read() is None


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


async def test_what_was_kept_is_not_put_over_what_a_person_works_on(site: TerraformSite) -> None:
    await site.deploy()
    found = site.store.get(state_key("net"))
    assert found is not None
    state = json.loads(found.data)
    newer = json.dumps(state | {"serial": state["serial"] + 1}).encode()
    (site.folder / "errored.tfstate").write_bytes(newer)
    info = {"ID": "1-2-3", "Operation": "OperationTypeApply", "Who": "ann@laptop",
            "Created": "2020-02-02T20:20:20Z"}  # fmt: skip
    site.store.put(LOCK, json.dumps(info).encode(), if_match=ANY)
    with pytest.raises(LockHeld, match="ann@laptop"):
        await site.plan()
    assert site.store.get(state_key("net")) == found
    assert (site.folder / "errored.tfstate").read_bytes() == newer
    site.store.delete(LOCK)
    await site.plan()
    now = site.store.get(state_key("net"))
    assert now is not None
    assert json.loads(now.data)["serial"] > state["serial"]
    assert site.store.get(LOCK) is None


def _no_state_is_written(request: Request) -> Fault | None:
    return BROKEN if request.method == "PUT" and _is(request, "terraform.tfstate") else None


def _is(request: Request, name: str) -> bool:
    return request.path.partition("?")[0].endswith(name)


def _no_lock_is_removed(request: Request) -> Fault | None:
    return BROKEN if request.method == "DELETE" and _is(request, ".tflock") else None


def _nothing_answers(request: Request) -> Fault | None:
    return BROKEN


@pytest.mark.parametrize(
    ("fault", "words"),
    [
        (_no_lock_is_removed, "failed to delete the lock"),
        (_nothing_answers, "kept on the worker's"),
    ],
)
async def test_an_apply_that_the_store_cut_short_ends_well_later(
    tmp_path: Path, s3_server: S3Server, fault: Callable[[Request], Fault | None], words: str
) -> None:
    with way_to(s3_server.endpoint) as way:
        site = TerraformSite(tmp_path, place(s3_server, way.endpoint))
        lines = tmp_path / "lines"
        site.module = module(lines, seconds=1)
        plan_key, plan = await site.plan()
        applying = asyncio.create_task(site.apply(plan_key, plan, key="run/net/apply/same"))
        await until(lines, "begun")
        way.look = fault
        with pytest.raises(Unreachable, match=words):
            await applying
        way.look = lambda request: None
        applied = await site.apply(plan_key, plan, key="run/net/apply/same")
        assert site.store.get(LOCK) is None
    assert "id" in applied.outputs.values
    assert lines.read_text().split() == ["begun", "done"]


def _refused_lock(request: Request) -> Fault | None:
    is_lock = request.method == "PUT" and _is(request, ".tflock")
    return refused(403, "AccessDenied") if is_lock else None


def _terraform_reads_nothing(request: Request) -> Fault | None:
    is_terraforms = "terraform" in request.headers.get("user-agent", "").lower()
    return BROKEN if is_terraforms and request.method == "GET" else None


@pytest.mark.parametrize(
    ("fault", "words"),
    [(_refused_lock, "AccessDenied"), (_terraform_reads_nothing, "InternalError"),
     (_no_lock_is_removed, "releasing this lock")],
)  # fmt: skip
async def test_what_the_store_refuses_a_plan_is_reported_once_and_tried_again(
    tmp_path: Path,
    s3_server: S3Server,
    fault: Callable[[Request], Fault | None],
    words: str,
) -> None:
    with way_to(s3_server.endpoint) as way:
        site = TerraformSite(tmp_path, place(s3_server, way.endpoint))
        site.module = module(tmp_path / "lines")
        way.look = fault
        with pytest.raises(Unreachable, match=words):
            await site.plan()
        assert 1 <= _times(way, fault) <= 2
        way.look = lambda request: None
        _, plan = await site.plan()
        assert plan.changes.create == 1


def _times(way: Way, fault: Callable[[Request], Fault | None]) -> int:
    """How many requests the fault hit."""
    return sum(fault(request) is not None for request in way.requests)


async def test_a_module_that_fails_by_itself_is_final_and_shows_no_credential(
    site: TerraformSite,
) -> None:
    site.module.files["main.tf"] = (
        'resource "terraform_data" "r" {\n provisioner "local-exec" {\n'
        ' command = "echo it is $AWS_SECRET_ACCESS_KEY; exit 3"\n }\n}\n'
    )
    with pytest.raises(EngineFailed, match="local-exec provisioner error") as caught:
        await site.deploy()
    assert f"it is {MASK}" in caught.value.message
    assert os.environ["AWS_SECRET_ACCESS_KEY"] not in caught.value.message


@pytest.mark.parametrize("content", [b"", b'{"version": 4, "ser'])
async def test_an_unreadable_errored_state_is_never_removed(
    site: TerraformSite, content: bytes
) -> None:
    await site.deploy()
    errored = site.folder / "errored.tfstate"
    errored.write_bytes(content)
    with pytest.raises(EngineFailed, match="import what that apply created") as caught:
        await site.plan()
    assert str(errored) in caught.value.message
    assert errored.read_bytes() == content
    assert site.store.get(LOCK) is None
