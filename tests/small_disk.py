"""A file system that is small enough to be filled."""

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_HOW = (
    "These tests fill a small file system. Run them as root, or mount one by yourself "
    "(`sudo mount -t tmpfs -o size=4m,uid=$(id -u) tmpfs FOLDER`) and name it in "
    "EXCLAVE_SMALL_DISK; it is emptied."
)


@contextmanager
def small_disk(folder: Path, mebibytes: int = 4) -> Iterator[Path]:
    """An empty one, gone again at the end; fails with how to get it where it cannot be had."""
    given = os.environ.get("EXCLAVE_SMALL_DISK")
    if given is not None:
        place = Path(given)
        assert place.is_mount(), _HOW
        subprocess.run(["find", str(place), "-mindepth", "1", "-delete"], check=True)
        yield place
        return
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", f"size={mebibytes}m", "tmpfs", str(folder)]
    asked = subprocess.run(mount, capture_output=True, text=True, check=False)
    assert asked.returncode == 0, f"{asked.stderr.strip()}. {_HOW}"
    try:
        yield folder
    finally:
        # Something that ends just now may still be in it.
        subprocess.run(["umount", "--lazy", str(folder)], check=True)


def fill(disk: Path) -> Path:
    """Take all the room that is left; returns what takes it."""
    file = disk / "filler"
    with file.open("ab", buffering=0) as filler:
        for size in (64 * 1024, 1024, 1):
            try:
                while True:
                    filler.write(b"\0" * size)
            except OSError:
                continue
    return file
