"""Supervisors that are killed at a certain instant of their start.

A supervisor imports `sitecustomize` from a folder of the test's as it starts, and so does no tool,
whose environment is its own.
"""

import os
from pathlib import Path

import pytest

_PATCH = """
import os, pathlib, signal, subprocess

class Popen(subprocess.Popen):
    def __init__(self, *args, **settings):
        left = pathlib.Path({left!r})
        if "pass_fds" not in settings or not left.exists():
            super().__init__(*args, **settings)
            return
        left.unlink()
        if {started}:
            super().__init__(*args, **settings)
        pathlib.Path({died!r}).touch()
        os.kill(os.getpid(), signal.SIGKILL)

subprocess.Popen = Popen
"""


class DyingSupervisors:
    """The next supervisor dies as it starts its tool: before it did, or at once after."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self._folder = folder
        self._died = folder / "died"
        folder.mkdir()
        before = os.environ.get("PYTHONPATH")
        monkeypatch.setenv("PYTHONPATH", os.pathsep.join(filter(None, [str(folder), before])))

    def next_dies(self, *, started: bool) -> None:
        """Have the next supervisor die, with its tool `started` or not."""
        left = self._folder / "left"
        left.touch()
        self._died.unlink(missing_ok=True)
        text = _PATCH.format(left=str(left), died=str(self._died), started=started)
        (self._folder / "sitecustomize.py").write_text(text)

    @property
    def died(self) -> bool:
        """Whether it has."""
        return self._died.exists()
