"""Finds running Terraform processes, and whether one of them may have a certain state open."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

_NAMES: Final = ("terraform", "tofu", "opentofu")
_PROC: Final = Path("/proc")


def may_be_open(*place: str) -> bool:
    """Whether a Terraform process on this machine may have the state open; blocks.

    Processes of other users are left out, since a lock names the user of its holder.

    Args:
        place: Values of the state's backend block that together identify the state.
    """
    if sys.platform != "linux":
        # A process's working folder cannot be found out there, so it might be any of them.
        return any(True for _ in _commands_by_ps())
    return any(_may_have_open(process, place) for process in _terraforms())


def is_terraform(arguments: list[str]) -> bool:
    """Whether a command line runs Terraform, or a script with such a name."""
    return any(Path(one).name.lower().startswith(_NAMES) for one in arguments[:2])


def _terraforms() -> Iterator[Path]:
    for process in _PROC.iterdir():
        # The process may end meanwhile.
        with suppress(FileNotFoundError, ProcessLookupError):
            if process.name.isdecimal() and process.stat().st_uid == os.geteuid():
                words = (process / "cmdline").read_bytes().decode(errors="replace")
                if is_terraform(words.split("\0")):
                    yield process


def _may_have_open(process: Path, place: Sequence[str]) -> bool:
    try:
        folder = (process / "cwd").readlink()
        record = folder / _data_folder(process) / "terraform.tfstate"
        text = record.read_text()
        return all(json.dumps(one) in text for one in place)
    except (FileNotFoundError, ProcessLookupError):
        # The process is gone, or has no backend.
        return False
    except OSError:
        return True


def _data_folder(process: Path) -> str:
    variables = (process / "environ").read_bytes().decode(errors="replace").split("\0")
    given = dict(one.partition("=")[::2] for one in variables)
    return given.get("TF_DATA_DIR") or ".terraform"


def _commands_by_ps() -> Iterator[list[str]]:
    asked = subprocess.run(
        ["/bin/ps", "-xo", "command="],
        capture_output=True,
        text=True,
        check=True,
        env={"LC_ALL": "C"},
    )
    for line in asked.stdout.split("\n"):
        if is_terraform(line.split()):
            yield line.split()
