"""Which second Python version CI uses, among those that the machine has."""

import os
import subprocess
from pathlib import Path

import pytest

PROGRAM = Path(__file__).resolve().parents[1] / ".ci" / "second-python"
RUNS_NOT = ""


def chosen(folder: Path, minors: dict[str, str], pyenv: str | None = None) -> str:
    """The script's output on a machine with these commands and the versions that they report."""
    for name, version in minors.items():
        command = folder / name
        command.write_text(f"#!/bin/sh\n{f'echo {version}' if version else 'exit 127'}\n")
        command.chmod(0o700)
    if pyenv is not None:
        (folder / "pyenv").write_text(f"#!/bin/sh\n{pyenv}\n")
        (folder / "pyenv").chmod(0o700)
    for name in ("bash", "sh", "env", "grep", "sort", "awk", "tail", "head"):
        found = next(path for path in (Path("/bin"), Path("/usr/bin")) if (path / name).exists())
        (folder / name).symlink_to(found / name)
    environment = {**os.environ, "PATH": str(folder)}
    return subprocess.run(
        [PROGRAM], env=environment, check=True, capture_output=True, text=True
    ).stdout.strip()


@pytest.mark.parametrize(
    ("minors", "second"),
    [
        ({"python3": "11 /a"}, ""),
        ({"python3": "11 /a", "python3.11": "11 /b"}, ""),
        ({"python3": "11 /a", "python3.12": "12 /b", "python3.13": "13 /c"}, "/c"),
        # Like pyenv's shims, which are in the PATH even for versions that are not selected.
        ({"python3": "11 /a", "python3.12": "12 /b", "python3.13": RUNS_NOT}, "/b"),
        ({"python3": "11 /a", "python3.10": RUNS_NOT}, ""),
        ({"python3": "13 /c", "python3.11": "11 /a", "python3.12": "12 /b"}, "/a"),
        ({"python3": RUNS_NOT, "python3.12": "12 /b"}, "/b"),
    ],
)
def test_the_newest_else_the_oldest_is_taken(
    tmp_path: Path, minors: dict[str, str], second: str
) -> None:
    assert chosen(tmp_path, minors) == second


def test_what_pyenv_keeps_out_of_the_path_counts(tmp_path: Path) -> None:
    kept = tmp_path / "versions" / "3.13.0" / "bin"
    kept.mkdir(parents=True)
    (kept / "python3").write_text("#!/bin/sh\necho 13 /kept\n")
    (kept / "python3").chmod(0o700)
    pyenv = f'[ "$1" = versions ] && echo 3.13.0 || echo {tmp_path}/versions/$2'
    assert chosen(tmp_path, {"python3": "11 /a"}, pyenv) == "/kept"
