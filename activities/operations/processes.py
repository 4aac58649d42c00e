"""Processes of a tool: known by pid and start time, so that a reused pid is never signalled.

What a lock's holders are can be asked on Linux only; elsewhere a tool is its process group.
"""

import contextlib
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Final

LINUX: Final = sys.platform == "linux"


@dataclass(frozen=True)
class Process:
    """A process, for good: another one with the same pid has another start time."""

    pid: int
    started: str
    """In the system's own notation; empty if the process was gone before it was asked."""


def identify(pid: int) -> Process:
    """The process that has the pid now."""
    return Process(pid, _look(pid)[0])


def is_alive(process: Process) -> bool:
    """Whether the process still runs (a zombie does not)."""
    started, zombie = _look(process.pid)
    return bool(started) and started == process.started and not zombie


def send(process: Process, number: signal.Signals) -> bool:
    """Sends the signal to the process alone; says whether it was there."""
    return _send_checked(process.pid, number, lambda: is_alive(process))


def send_group(leader: Process, number: signal.Signals) -> bool:
    """Sends the signal to the process group that the process leads; says whether it did.

    While the leader is there, if only as a zombie, the group's number cannot be another's. Where
    the holders of a lock cannot be asked instead, a group without its leader is signalled too.
    """
    if LINUX and not _look(leader.pid)[0] == leader.started != "":
        return False
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(leader.pid, number)
        return True
    return False


def send_holders(
    lock: Path,
    number: signal.Signals,
    *,
    but_groups: Collection[int],
    session: int | None = None,
) -> None:
    """Sends the signal to each other process that holds the lock, or is in the session; does
    nothing off Linux.

    Processes of the groups `but_groups` are left out: they were reached already.
    """
    for pid, still_it in _tree(lock, session):
        if _group(pid) not in but_groups:
            _send_checked(pid, number, still_it)


@dataclass(frozen=True)
class Left:
    """A process that a tool left running."""

    pid: int
    name: str
    """Its command's, as the system has it: at most 15 characters, and no argument."""


def left_running(lock: Path, session: int | None) -> list[Left]:
    """The other processes that hold the lock, or are in the session; none off Linux."""
    return [Left(pid, _name(pid)) for pid, _ in _tree(lock, session)]


def is_anybody_in(session: int) -> bool:
    """Whether any other process is in the session; on Linux only."""
    return LINUX and any(_in_session(pid, session) for pid in _pids() if pid != os.getpid())


def _tree(lock: Path, session: int | None) -> Iterator[tuple[int, Callable[[], bool]]]:
    """Each other process of a tool's tree, and what tells whether it is still that."""
    if not LINUX or not lock.exists():
        return
    inode = (lock.stat().st_dev, lock.stat().st_ino)
    for pid in _pids():
        if pid == os.getpid():
            continue
        if session is not None and _in_session(pid, session):
            yield pid, partial(_in_session, pid, session)
        elif _holds(pid, inode):
            yield pid, partial(_holds, pid, inode)


def _in_session(pid: int, session: int) -> bool:
    try:
        return os.getsid(pid) == session and not _look(pid)[1]
    except (ProcessLookupError, PermissionError):
        return False


def _name(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/comm").read_text(errors="replace").rstrip("\n")
    except (FileNotFoundError, ProcessLookupError):
        return "?"


def _send_checked(pid: int, number: signal.Signals, still_it: Callable[[], bool]) -> bool:
    """Sends to a pid that is checked after it was pinned, where the system can pin it."""
    try:
        pinned = os.pidfd_open(pid) if sys.platform == "linux" else None
    except ProcessLookupError:
        return False
    except OSError:  # forbidden in some sandboxes
        pinned = None
    try:
        if not still_it():
            return False
        with contextlib.suppress(PermissionError):
            if sys.platform == "linux" and pinned is not None:
                signal.pidfd_send_signal(pinned, number)
            else:
                os.kill(pid, number)
    except ProcessLookupError:
        return False
    finally:
        if pinned is not None:
            os.close(pinned)
    return True


def _look(pid: int) -> tuple[str, bool]:
    """The start time of the process, or an empty string, and whether it is a zombie."""
    return _look_in_proc(pid) if LINUX else _look_with_ps(pid)


def _look_in_proc(pid: int) -> tuple[str, bool]:
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return "", False
    # The second field, in parentheses, may hold anything; state is field 3, start time 22.
    fields = stat.rpartition(")")[2].split()
    return fields[19], fields[0] in "ZX"


def _look_with_ps(pid: int) -> tuple[str, bool]:
    asked = subprocess.run(
        ["/bin/ps", "-o", "stat=,lstart=", "-p", str(pid)],
        capture_output=True,
        text=True,
        check=False,
        env={"LC_ALL": "C"},
    )
    state, _, started = asked.stdout.strip().partition(" ")
    return started.strip(), state.startswith("Z")


def _pids() -> Iterator[int]:
    for entry in os.listdir("/proc"):  # noqa: PTH208 - names only, and there are many
        if entry.isdecimal():
            yield int(entry)


def _group(pid: int) -> int:
    try:
        return os.getpgid(pid)
    except ProcessLookupError:
        return 0


def _holds(pid: int, inode: tuple[int, int]) -> bool:
    """Whether a descriptor of the process holds an exclusive lock on the file.

    A process that only waits for the lock has the file open as well, so that alone says nothing.
    """
    descriptors = Path(f"/proc/{pid}/fd")
    try:
        for name in os.listdir(descriptors):  # noqa: PTH208 - names only
            with contextlib.suppress(FileNotFoundError):
                found = (descriptors / name).stat()
                if (found.st_dev, found.st_ino) == inode and _is_locked(pid, name):
                    return True
    except (FileNotFoundError, ProcessLookupError, PermissionError):
        return False  # it is gone, or not ours
    return False


def _is_locked(pid: int, descriptor: str) -> bool:
    for line in Path(f"/proc/{pid}/fdinfo/{descriptor}").read_text().split("\n"):
        if line.startswith("lock:") and "FLOCK" in line and "WRITE" in line:
            return True
    return False
