"""A tool's processes, identified by pid and start time, so that a reused pid is never signalled.

Only Linux can list the holders of a lock; elsewhere a tool means its process group.
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
    """One process; another one that gets the same pid later has another start time."""

    pid: int
    started: str
    """The start time in the system's own notation; empty if the process was already gone."""


def identify(pid: int) -> Process:
    """The process that has the pid now."""
    return Process(pid, _look(pid)[0])


def is_alive(process: Process) -> bool:
    """Whether the process still runs; a zombie does not count."""
    started, zombie = _look(process.pid)
    return bool(started) and started == process.started and not zombie


def send(process: Process, number: signal.Signals) -> bool:
    """Sends the signal to this process only; returns whether the process was there."""
    return _send_checked(process.pid, number, lambda: is_alive(process))


def send_group(leader: Process, number: signal.Signals) -> bool:
    """Sends the signal to the process group that the process leads; returns whether it did.

    While the leader exists, even as a zombie, no other group can have its number. Off Linux, where
    the holders of a lock cannot be listed, a group is signalled even without its leader.
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
    """Sends the signal to each process of a tool's tree (`_tree`); does nothing off Linux.

    Processes in the groups `but_groups` are left out, since they have got the signal already.
    """
    for pid, is_same in _tree(lock, session):
        if _group(pid) not in but_groups:
            _send_checked(pid, number, is_same)


@dataclass(frozen=True)
class LeftProcess:
    """A process that a tool left running."""

    pid: int
    name: str
    """The command's name as the kernel reports it: at most 15 characters, without arguments."""


def left_running(lock: Path, session: int | None) -> list[LeftProcess]:
    """The processes of a tool's tree (`_tree`); empty off Linux."""
    return [LeftProcess(pid, _name(pid)) for pid, _ in _tree(lock, session)]


def has_processes(session: int) -> bool:
    """Whether any other process is in the session or descends from its leader; False off Linux."""
    return LINUX and any(_of_session(session))


def children(pid: int) -> list[int]:
    """The children of the process, including zombies; empty off Linux."""
    return _families().get(pid, []) if LINUX else []


def _tree(lock: Path, session: int | None) -> Iterator[tuple[int, Callable[[], bool]]]:
    """Each process, except this one, that holds the lock, is in the session, or descends from the
    session's leader; with a function that checks whether the pid still is such a process."""
    if not LINUX or not lock.exists():
        return
    inode = (lock.stat().st_dev, lock.stat().st_ino)
    of_session = set(_of_session(session)) if session is not None else set()
    for pid in _pids():
        if session is not None and pid in of_session:
            yield pid, partial(_is_of_session, pid, session)
        elif pid != os.getpid() and _holds(pid, inode):
            yield pid, partial(_holds, pid, inode)


def _of_session(leader: int) -> Iterator[int]:
    """Each process that is alive and in the leader's session, or descends from the leader; without
    this process."""
    families = _families()
    descendants, parents = set[int](), [leader]
    while parents:
        found = set(families.get(parents.pop(), [])) - descendants
        descendants |= found
        parents += found
    for pid in _pids():
        is_one = pid in descendants or _in_session(pid, leader)
        if is_one and pid != os.getpid() and not _look(pid)[1]:
            yield pid


def _families() -> dict[int, list[int]]:
    """The children of each process that has any."""
    found: dict[int, list[int]] = {}
    for pid in _pids():
        found.setdefault(_parent(pid), []).append(pid)
    return found


def _is_of_session(pid: int, leader: int) -> bool:
    ancestor = pid
    while ancestor not in (0, leader):
        ancestor = _parent(ancestor)
    return (ancestor == leader or _in_session(pid, leader)) and not _look(pid)[1]


def _in_session(pid: int, session: int) -> bool:
    try:
        return os.getsid(pid) == session
    except (ProcessLookupError, PermissionError):
        return False


def _parent(pid: int) -> int:
    """The pid of the process's parent; 0 if it has none, or if the process is gone."""
    fields = _stat(pid)
    return int(fields[1]) if fields else 0


def _name(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/comm").read_text(errors="replace").rstrip("\n")
    except (FileNotFoundError, ProcessLookupError):
        return "?"


def _send_checked(pid: int, number: signal.Signals, is_same: Callable[[], bool]) -> bool:
    """Sends the signal if `is_same` holds. Where the system can pin a pid, it is pinned before the
    check, so that it cannot be reused in between."""
    try:
        pinned = os.pidfd_open(pid) if sys.platform == "linux" else None
    except ProcessLookupError:
        return False
    except OSError:  # forbidden in some sandboxes
        pinned = None
    try:
        if not is_same():
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
    fields = _stat(pid)
    return (fields[19], fields[0] in "ZX") if fields else ("", False)


def _stat(pid: int) -> list[str]:
    """The fields of `/proc/<pid>/stat` from the state on; none if the process is gone or hidden."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:  # noqa: PTH123 - faster, for every process
            stat = file.read()
    except (FileNotFoundError, ProcessLookupError, PermissionError):
        return []
    # Field 2 is in parentheses and may contain anything; the state is field 3, the start time 22.
    return stat.rpartition(b")")[2].decode().split()


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

    Having the file open is not enough: a process that only waits for the lock has it open too.
    """
    descriptors = Path(f"/proc/{pid}/fd")
    try:
        for name in os.listdir(descriptors):  # noqa: PTH208 - names only
            with contextlib.suppress(FileNotFoundError):
                found = (descriptors / name).stat()
                if (found.st_dev, found.st_ino) == inode and _is_locked(pid, name):
                    return True
    except (FileNotFoundError, ProcessLookupError, PermissionError):
        return False  # the process is gone, or belongs to another user
    return False


def _is_locked(pid: int, descriptor: str) -> bool:
    for line in Path(f"/proc/{pid}/fdinfo/{descriptor}").read_text().split("\n"):
        if line.startswith("lock:") and "FLOCK" in line and "WRITE" in line:
            return True
    return False
