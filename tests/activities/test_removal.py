"""A worker that is not root removes what tools left; what it cannot remove blocks nothing."""

import os
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from activities.releases.reader import _replace
from activities.releases.unpacked import marker_of
from activities.removal import remove_each

ROOT = Path(__file__).resolve().parents[2]
NOBODY = 65534
IS_ROOT = os.geteuid() == 0

AS_NOBODY = """
import asyncio, concurrent.futures.thread, logging, os, sys
from pathlib import Path
from activities import removal, retention
from activities.deploy.emptying import empty
from activities.retention import drop_old_runs
from store.folder import FolderStore
from store.journal import Journal
from store.machine import Machine
from tests.activities.deploy.deploy_site import DeploySite
folder = Path(sys.argv[1])
{before}
if os.geteuid() == 0:
    os.setgroups([])
    os.setgid({nobody})
    os.setuid({nobody})
logging.basicConfig(format="%(message)s", stream=sys.stdout)

def cache(at):
    "As Go leaves its modules, and what is worse."
    for name, mode in (("mod", 0o555), ("sealed", 0o000)):
        inner = at / "go" / name / "deep"
        inner.mkdir(parents=True)
        (inner / "file").write_text("x")
        inner.chmod(mode)
        inner.parent.chmod(mode)
    (at / "go" / "link").symlink_to(folder / "elsewhere")
    at.chmod(0o555)

"""


@pytest.fixture
def folder() -> Iterator[Path]:
    """A folder of a user other than root, who cannot read pytest's own folders."""
    made = Path(tempfile.mkdtemp())
    if IS_ROOT:
        os.chown(made, NOBODY, NOBODY)
    yield made
    shutil.rmtree(made)


def as_nobody(folder: Path, script: str, before: str = "") -> str:
    """Runs a script as a user other than root and returns what it prints; `before` runs as root."""
    program = AS_NOBODY.format(nobody=NOBODY, before=before) + script
    ran = subprocess.run(
        [sys.executable, "-c", program, folder],
        cwd=ROOT,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    return ran.stdout


def foreign(at: Path) -> None:
    """Makes a folder that belongs to root, with something in it, within another user's folder."""
    at.mkdir(parents=True)
    (at / "file").write_text("x")


def test_folders_that_nobody_may_write_are_removed(folder: Path) -> None:
    (folder / "elsewhere").mkdir(mode=0o555)
    as_nobody(folder, "cache(folder / 'home'); removal.remove(folder / 'home')")
    assert [path.name for path in folder.iterdir()] == ["elsewhere"]
    assert (folder / "elsewhere").stat().st_mode & 0o777 == 0o555, "a link is not followed"


@pytest.mark.skipif(not IS_ROOT, reason="only root can make what others cannot remove")
def test_what_cannot_be_removed_is_reported_and_blocks_nothing(folder: Path) -> None:
    foreign(folder / "a" / "foreign")
    os.chown(folder / "a", NOBODY, NOBODY)
    printed = as_nobody(
        folder,
        "cache(folder / 'a' / 'own'); cache(folder / 'b')\n"
        "left = removal.remove_each(sorted(folder.iterdir()))\n"
        "assert left == [folder / 'a'], left",
    )
    assert [str(path.relative_to(folder)) for path in sorted(folder.rglob("*"))] == [
        "a", "a/foreign", "a/foreign/file",
    ]  # fmt: skip
    assert f"{folder / 'a'} could not be removed" in printed and "as root" in printed


WITH_A_FOREIGN_RUN = """
site = DeploySite(folder / "site")
runs = site.data / "runs"
(runs / "b" / "foreign" / "of-root").mkdir(parents=True)
for parent in (folder / "site", site.data, runs, runs / "b"):
    os.chown(parent, 65534, 65534)
"""
LEFT_OF_IT = ["b", "b/foreign", "b/foreign/of-root"]


def left_in(runs: Path) -> list[str]:
    return [str(path.relative_to(runs)) for path in sorted(runs.rglob("*"))]


@pytest.mark.skipif(not IS_ROOT, reason="only root can make what others cannot remove")
def test_the_end_of_an_install_leaves_what_it_cannot_remove(folder: Path) -> None:
    printed = as_nobody(
        folder,
        "cache(runs / 'a' / 'home'); cache(runs / 'c' / 'home')\n"
        "cache(site.data / 'work' / 'acme' / 'net')\n"
        "site.begin('deprovision')\n"
        "asyncio.run(empty(site.workplace, site.turn, print))\n",
        WITH_A_FOREIGN_RUN,
    )
    assert f"{folder}/site/data/runs/b could not be removed" in printed
    assert left_in(folder / "site" / "data" / "runs") == LEFT_OF_IT
    assert left_in(folder / "site" / "data" / "work" / "acme") == []


@pytest.mark.skipif(not IS_ROOT, reason="only root can make what others cannot remove")
def test_old_runs_are_dropped_beside_one_that_cannot_be(folder: Path) -> None:
    printed = as_nobody(
        folder,
        "for number in range(25):\n"
        "    name = 'abc'[number] if number < 3 else f'r{number}'\n"
        "    journal = Journal(site.store, lambda: number)\n"
        "    journal.begin(f'{name}/net/plan/1', Machine('here', 'b'))\n"
        "    journal.record_result(f'{name}/net/plan/1', {})\n"
        "    if name != 'b':\n"
        "        cache(runs / name / 'home')\n"
        "drop_old_runs(site.store, runs, lambda run: False, 100)\n",
        WITH_A_FOREIGN_RUN,
    )
    runs = folder / "site" / "data" / "runs"
    assert f"{runs}/b could not be removed" in printed
    assert {path.name for path in runs.iterdir()} == {"b", *(f"r{n}" for n in range(5, 25))}


def test_what_was_left_beside_a_module_blocks_no_other(tmp_path: Path) -> None:
    destination = tmp_path / "net"
    left = tmp_path / ".net.unpacking-x" / "old" / "mod"
    left.mkdir(parents=True)
    left.chmod(0o555)
    archive = tmp_path / "module.zip"
    with zipfile.ZipFile(archive, "w") as file:
        file.writestr("main.tf", "")
    _replace(destination, marker_of(destination), archive)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["module.zip", "net"]


def test_folders_are_removed_however_deep_they_are(tmp_path: Path) -> None:
    """Deeper than Python's recursion limit and than the longest path; the last one is read-only."""
    folder = tmp_path / "deep"
    folder.mkdir()
    at = os.open(folder, os.O_RDONLY)
    for _ in range(3000):
        os.mkdir("inner", dir_fd=at)
        below = os.open("inner", os.O_RDONLY, dir_fd=at)
        os.close(at)
        at = below
    os.close(os.open("file", os.O_CREAT, dir_fd=at))
    os.fchmod(at, 0o555)
    os.close(at)
    assert remove_each([folder]) == []
    assert not folder.exists()


@pytest.mark.skipif(sys.platform != "linux", reason="mounts are made, and listed, as Linux does")
def test_what_is_mounted_in_it_is_not_emptied(tmp_path: Path) -> None:
    """A script that runs as root may leave a mount behind, even of the same device."""
    elsewhere, folder = tmp_path / "elsewhere", tmp_path / "a folder"
    (folder / "in" / "it").mkdir(parents=True)
    elsewhere.mkdir()
    (elsewhere / "precious").touch()
    program = (
        "import subprocess, sys; from pathlib import Path; from activities import removal\n"
        "folder, elsewhere = map(Path, sys.argv[1:])\n"
        "mount = ['mount', '--bind', elsewhere, folder / 'in' / 'it']\n"
        "subprocess.run(mount, check=True)\n"
        "assert removal.remove_each([folder, elsewhere.parent / 'none']) == [folder]\n"
        "subprocess.run(['umount', folder / 'in' / 'it'], check=True)\n"
        "assert removal.remove_each([folder]) == []\n"
    )
    ran = subprocess.run(
        ["unshare", "-Urm", sys.executable, "-c", program, folder, elsewhere],
        cwd=ROOT,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    assert (elsewhere / "precious").exists()
    assert not folder.exists()
    assert f"{folder} could not be removed" in ran.stderr and "unmount it" in ran.stderr


def test_a_name_that_is_no_text_is_removed(tmp_path: Path) -> None:
    inner = tmp_path / "home" / os.fsdecode(b"\xff\n")
    inner.mkdir(parents=True)
    (inner / os.fsdecode(b"\xfe")).touch()
    inner.chmod(0o555)
    assert remove_each([tmp_path / "home"]) == []
    assert list(tmp_path.iterdir()) == []
