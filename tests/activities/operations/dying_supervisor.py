"""Supervisors that are killed at a chosen moment of their start.

A supervisor imports `sitecustomize` from a folder of the test as it starts. Tools do not, since
their environment is not inherited.
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
    """Makes the next supervisor die, either just before it starts its tool or just after."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self._folder = folder
        self._died = folder / "died"
        folder.mkdir()
        before = os.environ.get("PYTHONPATH")
        monkeypatch.setenv("PYTHONPATH", os.pathsep.join(filter(None, [str(folder), before])))

    def next_dies(self, *, started: bool) -> None:
        """Make the next supervisor die, after it `started` its tool or before."""
        left = self._folder / "left"
        left.touch()
        self._died.unlink(missing_ok=True)
        text = _PATCH.format(left=str(left), died=str(self._died), started=started)
        (self._folder / "sitecustomize.py").write_text(text)

    @property
    def died(self) -> bool:
        """Whether that supervisor has died."""
        return self._died.exists()
