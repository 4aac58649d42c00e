"""Inits of a machine share one provider cache: they take turns, and recover from wrong hashes."""

import asyncio
import fcntl
import os
import signal
import subprocess
import zipfile
from collections.abc import Awaitable
from pathlib import Path

import pytest

from activities.operations.file_lock import is_held
from activities.operations.spec import Command, ToolRun
from activities.operations.status import Status
from activities.terraform.provider_cache import in_turn, provider_cache
from activities.terraform.tool import find_terraform
from contracts.errors import EngineFailed
from tests.activities.operations.operation_site import Site
from tests.activities.terraform.terraform_site import Module, TerraformSite

pytestmark = pytest.mark.e2e

NEEDS = (
    'terraform {\n  required_providers {\n    fake = { source = "example.com/x/fake" }\n  }\n}\n'
)
MAIN = NEEDS + 'output "done" {\n  value = "yes"\n}\n'


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache that the operator has configured, and a mirror with a provider."""
    place, mirror = tmp_path / "cache", tmp_path / "mirror"
    place.mkdir()
    packages = mirror / "example.com/x/fake"
    packages.mkdir(parents=True)
    platform = find_terraform().platform
    program = zipfile.ZipInfo("terraform-provider-fake_v1.0.0")
    program.external_attr = 0o755 << 16
    with zipfile.ZipFile(packages / f"terraform-provider-fake_1.0.0_{platform}.zip", "w") as file:
        file.writestr(program, os.urandom(40_000_000))
    config = tmp_path / "terraform.rc"
    config.write_text(
        f'plugin_cache_dir = "{place}"\n'
        f'provider_installation {{\n  filesystem_mirror {{\n    path = "{mirror}"\n  }}\n}}\n'
    )
    monkeypatch.setenv("TF_CLI_CONFIG_FILE", str(config))
    return place


def lock_now(folder: Path) -> int | None:
    """The lock on the cache, or None if somebody has it."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(descriptor)
        return None
    return descriptor


async def initialised(planning: Awaitable[object]) -> None:
    """Plan until Terraform would have to start the provider, which is not a program here."""
    with pytest.raises(EngineFailed, match="Failed to load plugin schemas"):
        await planning


async def test_an_init_waits_for_another_one_on_the_same_cache(tmp_path: Path, cache: Path) -> None:
    site = TerraformSite(tmp_path / "site")
    site.module = Module({"main.tf": MAIN})
    held = lock_now(cache)
    assert held is not None
    planning = asyncio.create_task(site.plan())
    words = f"waits for another init on the provider cache {cache}"
    async with asyncio.timeout(60):
        while words not in "".join(log.read_text() for log in site.data.rglob("output.log")):
            assert not planning.done(), planning
            await asyncio.sleep(0.05)
    assert not list(cache.iterdir())
    os.close(held)
    await initialised(planning)
    assert list(cache.iterdir())


async def test_two_workers_that_initialise_at_once_note_the_same_hash(
    tmp_path: Path, cache: Path
) -> None:
    sites = [TerraformSite(tmp_path / name) for name in ("one", "two", "three")]
    for site in sites:
        site.module = Module({"main.tf": MAIN})
    await asyncio.gather(*(initialised(site.plan()) for site in sites))
    noted = {(site.folder / ".terraform.lock.hcl").read_text() for site in sites}
    assert len(noted) == 1
    for site in sites:
        await initialised(site.plan())


async def test_the_lock_is_held_by_what_runs_init_when_all_else_is_gone(
    tmp_path: Path, cache: Path
) -> None:
    site, go_on = Site(tmp_path), tmp_path / "go-on"
    os.mkfifo(go_on)
    command = in_turn(Command("init", ["/bin/sh", "-c", f"echo begun; read word < {go_on}"]), cache)
    run = ToolRun([command], tmp_path, {"PATH": os.environ["PATH"]}, 60)
    async with site.operations().open("run/net/init", "net", lambda words: None) as operation:
        running = asyncio.create_task(operation.run("init", run))
        async with asyncio.timeout(60):
            while "begun" not in "".join(log.read_text() for log in site.data.rglob("output.log")):
                await asyncio.sleep(0.05)
        [folder] = [one.parent for one in site.data.rglob("output.log")]
        status = Status.load(folder)
        assert status is not None and status.supervisor is not None
        os.kill(status.supervisor.pid, signal.SIGKILL)
        assert lock_now(cache) is None
        go_on.write_text("on\n")
        await running
    free = lock_now(cache)
    assert free is not None
    os.close(free)
    assert not is_held(site.locks / "tree.lock")


def test_a_user_who_may_not_write_in_the_cache_takes_its_turn_too(cache: Path) -> None:
    cache.chmod(0o555)
    for folder in [cache, *cache.parents]:
        if folder.stat().st_uid == os.geteuid() and folder != Path("/"):
            folder.chmod(folder.stat().st_mode | 0o055)
    held = lock_now(cache)
    assert held is not None
    argv = list(in_turn(Command("init", ["/bin/echo", "initialised"]), cache).argv)
    argv[0] = "/usr/bin/env"
    argv.insert(1, "python3")
    user = {"user": 65534} if os.geteuid() == 0 else {}
    with subprocess.Popen(argv, stdout=subprocess.PIPE, text=True, **user) as other:  # type: ignore[call-overload]
        assert "waits for another init" in other.stdout.readline()
        os.close(held)
        assert other.stdout.readline() == "initialised\n"
    assert other.returncode == 0


async def test_a_wrong_hash_that_was_noted_is_got_out_of(tmp_path: Path, cache: Path) -> None:
    site = TerraformSite(tmp_path / "site")
    site.module = Module({"main.tf": MAIN})
    await initialised(site.plan())
    lock = site.folder / ".terraform.lock.hcl"
    right = lock.read_text()
    wrong = right.partition('"h1:')[2][:8]
    lock.write_text(right.replace(wrong, "AAAAAAAA"))
    await initialised(site.plan())
    assert lock.read_text() == right


async def test_a_module_whose_own_lock_file_forbids_the_provider_fails_and_says_so(
    tmp_path: Path, cache: Path
) -> None:
    site = TerraformSite(tmp_path / "site")
    site.module = Module({"main.tf": MAIN})
    await initialised(site.plan())
    text = (site.folder / ".terraform.lock.hcl").read_text()
    wrong = text.partition('"h1:')[2][:8]
    site.module.files[".terraform.lock.hcl"] = text.replace(wrong, "AAAAAAAA")
    with pytest.raises(EngineFailed, match="dependency lock file"):
        await site.plan()
    assert "AAAAAAAA" in (site.folder / ".terraform.lock.hcl").read_text()


@pytest.mark.parametrize(
    ("config", "named"),
    [
        ('plugin_cache_dir = "{}"', True),
        ('  plugin_cache_dir="$PLACE"  # as Terraform does', True),
        ('plugin_cache_dir = "${{PLACE}}"', True),
        ('{{"plugin_cache_dir": "{}"}}', True),
        ('# plugin_cache_dir = "{}"', False),
        ('plugin_cache_dir = "{}/not-there"', False),
        ("disable_checkpoint = true", False),
    ],
)
def test_where_the_cache_is(tmp_path: Path, config: str, named: bool) -> None:
    file = tmp_path / "rc"
    file.write_text(config.format(tmp_path))
    found = provider_cache({"TF_CLI_CONFIG_FILE": str(file), "PLACE": str(tmp_path)})
    assert found == (tmp_path if named else None)
