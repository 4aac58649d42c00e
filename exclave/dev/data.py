"""The data folder: its lock, which allows one `exclave dev` at a time, and `pids.json`."""

import fcntl
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


class DataFolderInUse(Exception):
    """Another `exclave dev`, or processes that a killed one left, use this data folder."""


class PidFile:
    """`pids.json`: pids by process name; the file is replaced as a whole at every change."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._pids: dict[str, int] = {}

    def add(self, name: str, pid: int) -> None:
        """Record a process that was started."""
        self._pids[name] = pid
        self._write()

    def remove(self, name: str) -> None:
        """Forget a process that has ended."""
        self._pids.pop(name, None)
        self._write()

    def delete(self) -> None:
        """Remove the file: no process is left."""
        self._path.unlink(missing_ok=True)

    def _write(self) -> None:
        draft = self._path.with_suffix(".tmp")
        draft.write_text(json.dumps(self._pids, indent=2) + "\n", encoding="utf-8")
        draft.replace(self._path)


@contextmanager
def hold(data: Path) -> Iterator[tuple[PidFile, int]]:
    """Create and lock the data folder, closed to other users, as is everything created meanwhile.

    The lock is a file descriptor that every process started here inherits. So it is held as long as
    any of them lives, even after `exclave dev` itself was killed.

    Yields:
        The pid file, and the descriptor to hand to processes.

    Raises:
        DataFolderInUse: it is locked already; the message names the processes.
        OSError: the folder cannot be created or written to.
    """
    # The Temporal server, which creates the database, inherits the umask.
    before = os.umask(0o077)
    descriptor = None
    try:
        data.mkdir(parents=True, exist_ok=True)
        data.chmod(0o700)
        pids = data / "pids.json"
        descriptor = os.open(data / "lock", os.O_RDWR | os.O_CREAT, 0o600)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise DataFolderInUse(_in_use(data, pids)) from error
        yield PidFile(pids), descriptor
    finally:
        if descriptor is not None:
            os.close(descriptor)
        os.umask(before)


def _in_use(data: Path, pids: Path) -> str:
    try:
        left: dict[str, int] = json.loads(pids.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        left = {}
    named = ", ".join(f"{name} {pid}" for name, pid in left.items())
    return (
        f"the data folder {data} is in use by another `exclave dev`, or by processes that a killed "
        f"one left{f' (pids: {named})' if named else ''}; stop it with Ctrl-C where it runs"
        + (f", or end them: kill {' '.join(str(pid) for pid in left.values())}" if left else "")
    )
