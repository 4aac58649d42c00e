"""The backend on a folder: a file that Terraform overwrites in place, with the system's lock."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from activities.terraform.backends.local import LocalBackend
from activities.terraform.backends.registry import backend_of, worker_secrets
from activities.terraform.state_lock import StateLock
from activities.terraform.tool import TerraformTool
from store.folder import FolderStore


@pytest.fixture
def backend(tmp_path: Path) -> LocalBackend:
    found = backend_of(FolderStore(tmp_path / "store"), "net")
    assert isinstance(found, LocalBackend)
    return found


def test_it_is_written_with_the_folder_of_the_state(backend: LocalBackend, tmp_path: Path) -> None:
    state = tmp_path / "store" / "terraform" / "net" / "terraform.tfstate"
    assert backend.where() == str(state) == str(backend.file_in_place)
    backend.write(tmp_path)
    assert state.parent.is_dir()
    [override] = tmp_path.glob("*override.tf.json")
    block = {"local": {"path": str(state)}}
    assert json.loads(override.read_text()) == {"terraform": {"backend": block}}
    assert backend.used_instead(tmp_path) == "None", "nothing was initialised yet"


def test_it_needs_nothing_of_the_worker(
    backend: LocalBackend, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "hunter2hunter2")
    assert backend.environment_beside({}) == {}
    assert "hunter2hunter2" not in worker_secrets(backend.store)
    backend.require(TerraformTool(Path("/t"), "terraform", "1.5.0", "linux_amd64"))


HOLDER = """
import fcntl, sys
file = open(sys.argv[1], "r+b")
fcntl.lockf(file, fcntl.LOCK_EX)
print("held", flush=True)
sys.stdin.read()
"""


def test_its_lock_is_the_system_s_and_cannot_be_broken(
    backend: LocalBackend, tmp_path: Path
) -> None:
    backend.write(tmp_path)
    assert backend.read_lock() is None
    backend.file_in_place.write_bytes(b"{}")
    assert backend.read_lock() is None
    with (
        backend.hold_lock({}),
        subprocess.Popen(
            [sys.executable, "-c", HOLDER, str(backend.file_in_place)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        ) as holder,
    ):
        assert holder.stdout is not None
        holder.stdout.readline()
        lock = backend.read_lock()
        assert isinstance(lock, StateLock) and not lock.etag
        backend.break_lock(lock)
        assert backend.read_lock() == lock
        assert "end it" in backend.way_out(lock, tmp_path)
        holder.communicate(timeout=60)
    assert backend.read_lock() is None
