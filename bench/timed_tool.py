"""A script that comes before the real Terraform on a worker's PATH and records when it ran."""

import os
from dataclasses import dataclass
from pathlib import Path

_SCRIPT = """#!/bin/sh
read begun rest < /proc/uptime
'{tool}' "$@"
status=$?
read ended rest < /proc/uptime
echo "$1 $begun $ended $PWD" >> '{log}'
exit $status
"""
"""It reads the machine's uptime, in hundredths of a second, since that starts no process."""


@dataclass(frozen=True)
class Ran:
    """One command of the tool."""

    command: str
    seconds: float
    folder: str
    """The name of its working folder, which Exclave names after the component."""


class TimedTool:
    """The script, in its own folder, and its records."""

    def __init__(self, folder: Path, tool: Path) -> None:
        """Write the script into a new folder.

        Args:
            folder: Created here.
            tool: The real Terraform.
        """
        folder.mkdir()
        self._folder = folder
        self._log = folder / "log"
        script = folder / "terraform"
        script.write_text(_SCRIPT.format(tool=tool, log=self._log))
        script.chmod(0o755)

    @property
    def environment(self) -> dict[str, str]:
        """The environment in which a worker finds the script."""
        return {"PATH": f"{self._folder}{os.pathsep}{os.environ['PATH']}"}

    def take(self) -> list[Ran]:
        """What ran since the last call."""
        lines = self._log.read_text().splitlines()
        self._log.unlink()
        return [_read(line) for line in lines]


def _read(line: str) -> Ran:
    command, begun, ended, folder = line.split(" ", 3)
    return Ran(command, float(ended) - float(begun), Path(folder).name)
