"""`exclave demo`: the story is told, can be looked at, and leaves no process."""

import base64
import json
import os
import re
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.histories_at_rest import PLAIN_BY_NATURE, plain_payloads
from tests.e2e.plane import BIN, PATIENCE_SECONDS, until


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "demo"


def processes(folder: Path) -> list[int]:
    """Living processes whose command line names the folder."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                command = (entry / "cmdline").read_bytes().decode()
            except OSError:
                continue
            if str(folder) in command:
                found.append(int(entry.name))
    return found


@pytest.fixture
def demo(folder: Path, tmp_path: Path) -> Iterator[subprocess.Popen[bytes]]:
    with (tmp_path / "told").open("wb") as told:
        process = subprocess.Popen(
            [BIN / "exclave", "demo", "--folder", folder],
            stdout=told,
            stderr=told,
            stdin=subprocess.DEVNULL,
            start_new_session=True,
        )
    yield process
    if process.poll() is None:
        process.send_signal(signal.SIGINT)
        process.wait(PATIENCE_SECONDS)


def test_the_story_is_told_looked_at_and_ended(
    demo: subprocess.Popen[bytes], folder: Path, tmp_path: Path
) -> None:
    told = tmp_path / "told"

    def is_told() -> bool:
        assert demo.poll() is None, told.read_text()
        return "Everything is still up" in told.read_text()

    until(is_told, f"the end of the story, told in {told}", seconds=300)
    text = told.read_text()
    [address] = {
        line.split("=")[1].split()[0] for line in text.splitlines() if "export TEMPORAL_ADD" in line
    }
    [codec] = set(re.findall(r"--codec-endpoint (\S+)", text))
    ended = re.findall(r"^((?:provision|deploy|deprovision)/acme/\d+) is done", text, re.MULTILINE)
    assert len(ended) == 6, ended
    for run in ended:
        assert accepted_updates(address, run, codec), run
    assert set(plain_payloads(address, ended[0])) <= PLAIN_BY_NATURE
    keys = next(folder.rglob("keys.json"))
    assert "is done" in followed(address, ended[0], 0, EXCLAVE_KEYS=str(keys))
    assert "EXCLAVE_KEYS" in followed(address, ended[0], 1)
    assert processes(folder)
    demo.send_signal(signal.SIGINT)
    assert demo.wait(PATIENCE_SECONDS) == 0, told.read_text()
    assert "Everything has ended." in told.read_text()
    assert processes(folder) == []


def followed(address: str, run: str, status: int, **environment: str) -> str:
    done = subprocess.run(
        [BIN / "exclave", "follow", run],
        env={
            **{k: v for k, v in os.environ.items() if k != "EXCLAVE_KEYS"},
            **{"TEMPORAL_ADDRESS": address, "TEMPORAL_NAMESPACE": "dev"},
            **environment,
        },
        capture_output=True,
        text=True,
        timeout=PATIENCE_SECONDS,
        check=False,
    )
    assert done.returncode == status, done.stdout + done.stderr
    assert "Traceback" not in done.stderr
    return done.stdout + done.stderr


def accepted_updates(address: str, run: str, codec: str) -> list[dict[str, Any]]:
    """The approvals that the run's history holds, each with its digest."""
    done = subprocess.run(
        [
            *(BIN / "temporal", "workflow", "show", "--workflow-id", run, "-o", "json"),
            *("--address", address, "--namespace", "dev", "--codec-endpoint", codec),
        ],
        capture_output=True,
        text=True,
        timeout=PATIENCE_SECONDS,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    accepted = [
        event["workflowExecutionUpdateAcceptedEventAttributes"]["acceptedRequest"]["input"]
        for event in json.loads(done.stdout)["events"]
        if "workflowExecutionUpdateAcceptedEventAttributes" in event
    ]
    approvals = [
        json.loads(base64.b64decode(one["args"]["payloads"][0]["data"]))
        for one in accepted
        if one["name"] == "approve"
    ]
    assert all(one["digest"].startswith("sha256:") for one in approvals)
    return approvals
