"""The story, three times at once, while their processes are killed at random."""

import signal
import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = Path(__file__).with_name("random_kills.py")
RUNS = 3
PATIENCE_SECONDS = 1200
"""A run takes two to four minutes: most of it waits for the heartbeat timeouts of the killed."""


@pytest.mark.timeout(PATIENCE_SECONDS + 60)
def test_every_story_ends_as_if_nothing_had_happened(tmp_path: Path, seed: int) -> None:
    seeds = range(seed * RUNS, (seed + 1) * RUNS)
    logs = {one: tmp_path / f"{one}.log" for one in seeds}
    runs = {}
    for one, log in logs.items():
        with log.open("wb") as out:
            command = [sys.executable, str(PROGRAM), "--seed", str(one)]
            runs[one] = subprocess.Popen(command, stdout=out, stderr=out)
    try:
        failed = {one for one, run in runs.items() if run.wait(PATIENCE_SECONDS) != 0}
    finally:
        for run in runs.values():
            if run.poll() is None:
                # As Ctrl-C does: it drains what it has brought up.
                run.send_signal(signal.SIGINT)
                run.wait()
    told = "\n".join(f"--- seed {one}\n{logs[one].read_text()[-6000:]}" for one in failed)
    assert not failed, f"{told}\nAgain: python {PROGRAM.relative_to(Path.cwd())} --seed …"
