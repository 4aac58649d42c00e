"""How much memory a process uses, as counted by Linux."""

import itertools
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

_MEGABYTE = 1_000_000


@dataclass(frozen=True)
class Memory:
    """Megabytes (of 10^6 bytes)."""

    resident: float
    """RSS: everything in memory; shared libraries count fully."""
    proportional: float
    """PSS: shared pages count in part."""


def memory_of(pid: int) -> Memory:
    """The memory of a running process."""
    lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()[1:]
    fields = {name: rest for name, _, rest in (line.partition(":") for line in lines)}
    return Memory(*(_bytes(fields[name]) / _MEGABYTE for name in ("Rss", "Pss")))


def grown_by_imports(modules: list[str], folder: Path) -> list[tuple[str, float]]:
    """Import the modules in a fresh process, one after the other.

    Returns:
        Megabytes: those of the bare interpreter, and those that each import added.
    """
    script = (
        "import importlib, pathlib, sys\n"
        "def resident():\n"
        "    lines = pathlib.Path('/proc/self/smaps_rollup').read_text().splitlines()\n"
        "    return next(line.split()[1] for line in lines if line.startswith('Rss:'))\n"
        "print(resident())\n"
        "for module in sys.argv[1:]:\n"
        "    importlib.import_module(module)\n"
        "    print(resident())\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, *modules],
        cwd=folder,
        check=True,
        stdout=subprocess.PIPE,
        text=True,
    )
    sizes = [int(line) * 1024 / _MEGABYTE for line in done.stdout.split()]
    added = [after - before for before, after in itertools.pairwise(sizes)]
    return [("python", sizes[0]), *zip(modules, added, strict=True)]


def _bytes(field: str) -> int:
    number, unit = field.split()
    if unit != "kB":
        raise ValueError(f"{field!r} is not in kB")
    return int(number) * 1024
