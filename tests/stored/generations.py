"""The goldens: what each version has left on disks and in stores, as whole folders of files.

A generation is never changed or removed. When what is stored gains something, the next one is
recorded beside it: `python -m tests.stored.record v<n>`.
"""

import json
import shutil
import tomllib
from pathlib import Path
from typing import Any

GOLDEN = Path(__file__).parent / "golden"
GENERATIONS = sorted((path.name for path in GOLDEN.glob("v*")), key=lambda name: int(name[1:]))

PROSE = {"stack/policy.toml"}
"""Written for people, whose words may change: only read, and not compared to what is written."""


def copy_of(generation: str, folder: Path) -> Path:
    """The generation's files, for a test to work on; their owner's alone, as they were written."""
    copied = folder / generation
    shutil.copytree(GOLDEN / generation, copied)
    for path in [copied, *copied.rglob("*")]:
        path.chmod(0o700 if path.is_dir() else 0o600)
    return copied


def files(root: Path) -> dict[str, Path]:
    """Every file, by its path."""
    return {
        path.relative_to(root).as_posix(): path
        for path in sorted(root.rglob("*"))
        if path.is_file()
    }


def content_of(path: Path) -> Any:
    """What a file says, however it is laid out."""
    data = path.read_bytes()
    match path.suffix:
        case ".json":
            return json.loads(data)
        case ".jsonl":
            return [_form(json.loads(line)) for line in data.splitlines()]
        case ".toml":
            return tomllib.loads(data.decode())
    return data


def _form(line: dict[str, Any]) -> dict[str, Any]:
    """A line of a chain without its values: each hash in it follows from all that came before."""
    return {name: value if name == "kind" else type(value).__name__ for name, value in line.items()}
