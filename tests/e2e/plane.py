"""The real development control plane and real install workers, as test subjects."""

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import yaml

T = TypeVar("T")
ROOT = Path(__file__).resolve().parents[2]
BIN = Path(sys.executable).parent
PATIENCE_SECONDS = 120.0
"""Far above what anything here takes; a test that waits this long has failed."""


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def until(look: Callable[[], T], what: str, seconds: float = PATIENCE_SECONDS) -> T:
    """Look again until there is something; for what has no event to wait for from outside."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        found = look()
        if found:
            return found
        time.sleep(0.05)
    raise AssertionError(f"waited {seconds:.0f} s in vain for {what}")


def is_alive(pid: int) -> bool:
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return False
    return stat.rpartition(")")[2].split()[0] != "Z"


class Plane:
    """`exclave dev` on free ports, with a data folder of its own."""

    def __init__(
        self,
        folder: Path,
        dynamic_config: dict[str, object] | None = None,
        *,
        guarded: bool = False,
    ) -> None:
        """Declare it.

        Args:
            folder: Everything of it lies there.
            dynamic_config: More of Temporal's settings.
            guarded: Payloads are encrypted, and workers come through a gateway.
        """
        self.folder = folder
        declared: dict[str, Any] = yaml.safe_load((ROOT / "temporal-dev.yaml").read_text())
        self.address = f"127.0.0.1:{free_port()}"
        self.push = f"http://127.0.0.1:{free_port()}"
        self.pull = f"http://127.0.0.1:{free_port()}"
        declared["data"] = str(folder / "dev")
        declared["temporal"]["address"] = self.address
        declared["temporal"]["ui"] = f"127.0.0.1:{free_port()}"
        declared["temporal"]["dynamic_config"] |= dynamic_config or {}
        declared["registry"] = {"push": self.push[7:], "pull": self.pull[7:]}
        # Most of what is tested here is the same behind a gateway, and easier to look into without.
        self.gateway = f"127.0.0.1:{free_port()}" if guarded else None
        self.codec = f"127.0.0.1:{free_port()}" if guarded else None
        declared |= {"gateway": self.gateway or False, "codec": self.codec or False}
        self.namespace = declared["namespace"]
        self.file = folder / "temporal-dev.yaml"
        self.file.write_text(yaml.safe_dump(declared))
        self.log = folder / "dev.log"
        self.git_config = folder / "gitconfig"
        """Of the build worker's user: nothing of whoever runs the tests is in it."""
        self.process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                [BIN / "exclave", "dev", "--file", self.file],
                stdout=log,
                stderr=log,
                stdin=subprocess.DEVNULL,
                start_new_session=True,
                cwd=self.folder,
                env=os.environ
                | {"GIT_CONFIG_GLOBAL": str(self.git_config), "GIT_CONFIG_NOSYSTEM": "1"},
            )
        until(self._is_up, f"`exclave dev`, whose log is {self.log}")

    def _is_up(self) -> bool:
        assert self.process is not None
        assert self.process.poll() is None, self.log.read_text()
        pids = self.pids()
        return {"temporal", "registry", "control", "build"} <= pids.keys() and (
            "Working on the queue control" in self.log.read_text()
            and "Working on the queue build" in self.log.read_text()
        )

    def pids(self) -> dict[str, int]:
        """From one place, so that a kill never hits a process that is not the one in service."""
        path = self.folder / "dev" / "pids.json"
        return json.loads(path.read_text()) if path.exists() else {}

    def stop(self) -> None:
        assert self.process is not None
        pids = self.pids().values()
        self.process.send_signal(signal.SIGTERM)
        assert self.process.wait(PATIENCE_SECONDS) == 0, self.log.read_text()[-4000:]
        assert not [pid for pid in pids if is_alive(pid)]

    def answers(self) -> bool:
        host, port = self.address.split(":")
        try:
            socket.create_connection((host, int(port)), timeout=1).close()
        except OSError:
            return False
        return True

    def temporal_down(self, seconds: float) -> None:
        """Kill the server, keep it down, and let `exclave dev` start it again."""
        assert self.process is not None
        before = self.pids()["temporal"]
        # A stopped supervisor restarts nothing.
        self.process.send_signal(signal.SIGSTOP)
        os.kill(before, signal.SIGKILL)
        end = time.monotonic() + seconds
        until(lambda: not self.answers(), "the dead server's port to close", 10)
        while time.monotonic() < end:
            assert not self.answers(), "a server answers that should be dead"
            time.sleep(0.5)
        self.process.send_signal(signal.SIGCONT)
        until(lambda: self.answers() and self.pids()["temporal"] != before, "the server's restart")

    def temporal(self, *arguments: str, ok: bool = True) -> Any:
        """The temporal CLI; its JSON output, or stderr where it must fail."""
        done = subprocess.run(
            [BIN / "temporal", *arguments, *self._flags()],
            capture_output=True,
            text=True,
            timeout=PATIENCE_SECONDS,
            check=False,
        )
        assert (done.returncode == 0) == ok, f"{arguments}: {done.stdout} {done.stderr}"
        return json.loads(done.stdout) if ok and done.stdout.strip() else done.stderr + done.stdout

    def _flags(self) -> tuple[str, ...]:
        codec = ("--codec-endpoint", f"http://{self.codec}") if self.codec else ()
        return ("--address", self.address, "--namespace", self.namespace, "-o", "json", *codec)

    def start_workflow(self, kind: str, workflow_id: str, input: object) -> None:
        self.temporal(
            *("workflow", "start", "--type", kind, "--task-queue", "control"),
            *("--workflow-id", workflow_id, "--id-conflict-policy", "Fail"),
            *("--input", json.dumps(input)),
        )

    def update(self, workflow_id: str, name: str, input: object, ok: bool = True) -> Any:
        answer = self.temporal(
            *("workflow", "update", "execute", "--workflow-id", workflow_id, "--name", name),
            *("--input", json.dumps(input)),
            ok=ok,
        )
        return answer["result"] if ok else answer

    def query(self, workflow_id: str, name: str) -> Any:
        answer = self.temporal("workflow", "query", "--workflow-id", workflow_id, "--type", name)
        return answer["queryResult"][0]

    def result(self, workflow_id: str) -> dict[str, Any]:
        """Wait for the end; the CLI's answer with `status`, and `result` or `failure`."""
        done = subprocess.run(
            [
                *(BIN / "temporal", "workflow", "result", "--workflow-id", workflow_id),
                *self._flags(),
            ],
            capture_output=True,
            text=True,
            timeout=PATIENCE_SECONDS,
            check=False,
        )
        answer: dict[str, Any] = json.loads(done.stdout)
        return answer

    def history(self, workflow_id: str) -> dict[str, Any]:
        shown: dict[str, Any] = self.temporal("workflow", "show", "--workflow-id", workflow_id)
        return shown

    @property
    def environment(self) -> dict[str, str]:
        """What the `exclave` command needs to find it."""
        keys = {"EXCLAVE_KEYS": str(self.folder / "dev" / "keys.json")} if self.codec else {}
        named = {"TEMPORAL_ADDRESS": self.address, "TEMPORAL_NAMESPACE": self.namespace}
        return os.environ | named | keys

    def logs(self, run: str, status: int = 0) -> str:
        """What `exclave logs` prints; where it must fail, what it says."""
        done = subprocess.run(
            [BIN / "exclave", "logs", run],
            env=self.environment,
            capture_output=True,
            text=True,
            timeout=PATIENCE_SECONDS,
            check=False,
        )
        assert done.returncode == status, done.stdout + done.stderr
        return done.stderr if status else done.stdout

    def readme(self, install: str) -> str:
        """What `exclave readme` prints."""
        done = subprocess.run(
            [BIN / "exclave", "readme", install],
            env=self.environment,
            capture_output=True,
            text=True,
            timeout=PATIENCE_SECONDS,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    def upload(self, folder: Path) -> str:
        done = subprocess.run(
            [BIN / "exclave", "upload", folder, "--registry", self.push],
            capture_output=True,
            text=True,
            timeout=PATIENCE_SECONDS,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()

    def build(self, app: str, folder: Path, number: int = 1) -> str:
        """Upload and build; the release's digest."""
        workflow_id = f"build/{app}/{number}"
        self.start_workflow("Build", workflow_id, {"app": app, "source": self.upload(folder)})
        answer = self.result(workflow_id)
        assert answer["status"] == "COMPLETED", answer
        return str(answer["result"]["release"])

    def waiting_plans(self, workflow_id: str) -> list[dict[str, Any]]:
        plans: list[dict[str, Any]] | None = self.query(workflow_id, "waiting")["plans"]
        return plans or []

    def approve_one_with_view(self, workflow_id: str) -> dict[str, Any]:
        """Wait for a plan, read its view, approve it, and return the view."""
        plan = until(lambda: self.waiting_plans(workflow_id), f"a plan of {workflow_id}")[0]
        view: dict[str, Any] = self.update(workflow_id, "view", {"digest": plan["digest"]})
        self.update(workflow_id, "approve", {"digest": plan["digest"], "by": "a test"})
        return view

    def approve_one(self, workflow_id: str) -> dict[str, Any]:
        """Wait for a plan, approve it, and return it."""
        plan = until(lambda: self.waiting_plans(workflow_id), f"a plan of {workflow_id}")[0]
        self.update(workflow_id, "approve", {"digest": plan["digest"], "by": "a test"})
        return plan


class InstallWorker:
    """`exclave-worker` with an enrolment file and an empty folder, and nothing else."""

    def __init__(self, plane: Plane, install: str, folder: Path) -> None:
        self.install = install
        self.within: tuple[str, ...] = ()
        """What its command begins with, where it runs elsewhere than beside the tests."""
        self.program: tuple[str, ...] = (str(BIN / "exclave-worker"),)
        self.folder = folder / install
        self.folder.mkdir()
        self.data = self.folder / "data"
        self.data.mkdir(mode=0o700)
        self.enrolment = self.folder / "enrolment.toml"
        self.enrolment.write_text(
            f'temporal = "{plane.address}"\nreleases = "{plane.pull}"\n'
            f'namespace = "{plane.namespace}"\ninstall = "{install}"\n'
        )
        self.log = self.folder / "worker.log"
        self.process: subprocess.Popen[bytes] | None = None
        self.starts = 0

    def start(self, **environment: str) -> None:
        self.starts += 1
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                [*self.within, *self.program, self.enrolment],
                env={**os.environ, **environment},
                stdout=log,
                stderr=log,
                stdin=subprocess.DEVNULL,
                start_new_session=True,
                cwd=self.data,
            )

    def kill(self) -> None:
        assert self.process is not None
        assert self.process.poll() is None, "the worker is not alive"
        self.process.kill()
        self.process.wait()

    def terminate(self, number: int = signal.SIGTERM) -> None:
        assert self.process is not None
        self.process.send_signal(number)

    def wait(self) -> int:
        assert self.process is not None
        return self.process.wait(PATIENCE_SECONDS)

    def stop(self) -> None:
        if self.process is not None and self.process.poll() is None:
            # Before that a signal ends it the system's way, and not with status 0.
            until(lambda: self.log.read_text().count("Working on the queue") >= self.starts, "it")
            self.terminate()
            assert self.wait() == 0, self.log.read_text()

    def processes(self, needle: str) -> list[int]:
        """Living processes of this worker's data folder whose command line contains the needle."""
        found = []
        for entry in Path("/proc").iterdir():
            if not entry.name.isdigit() or not is_alive(int(entry.name)):
                continue
            try:
                command = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode()
                inside = str(self.data) in command or str((entry / "cwd").readlink()).startswith(
                    str(self.data)
                )
            except OSError:
                continue
            if inside and needle in command:
                found.append(int(entry.name))
        return found

    def terraform(self) -> int:
        """The pid of the one Terraform that applies."""
        return until(lambda: self.processes("apply -input"), "terraform apply")[0]

    def supervisor(self) -> int:
        return until(lambda: self.processes("activities.operations.supervisor"), "a supervisor")[0]

    def store_file(self, key: str) -> Path:
        return self.data / "store" / key


class EnrolledWorker(InstallWorker):
    """`exclave-worker` with the stack that `exclave install` wrote, and nothing else."""

    def __init__(self, plane: Plane, install: str, folder: Path) -> None:
        super().__init__(plane, install, folder)
        self._plane = plane
        self.stack = self.folder / "stack"
        self.enrolment = self.stack / "enrolment.toml"

    def apply_stack(self, app: str, release: str | None = None) -> None:
        """Have the stack written; this starts Install."""
        named = ("--release", release) if release else ()
        done = subprocess.run(
            [
                *(BIN / "exclave", "install", self.install, "--app", app, "--stack", self.stack),
                *named,
            ],
            env=self._plane.environment,
            capture_output=True,
            text=True,
            timeout=PATIENCE_SECONDS,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr
