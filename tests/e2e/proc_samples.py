"""What every process of the machine shows of itself while something runs: its argv, its environ."""

import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

_SUPERVISOR = b"activities.operations.supervisor"
_EVERY_SECONDS = 0.05


class Sampled:
    """Which needles were seen in processes; tools may hold what they were given, others nothing."""

    def __init__(self, needles: Mapping[str, frozenset[bytes]]) -> None:
        self._needles = needles
        self.outside: set[str] = set()
        self.in_tools: set[str] = set()

    def look(self) -> None:
        """Look at all processes once."""
        parents: dict[int, int] = {}
        shown: dict[int, bytes] = {}
        supervisors: set[int] = set()
        for entry in Path("/proc").iterdir():
            if entry.name.isdigit():
                with suppress(OSError, ValueError):
                    pid = int(entry.name)
                    argv = (entry / "cmdline").read_bytes()
                    shown[pid] = argv + b"\0" + (entry / "environ").read_bytes()
                    parents[pid] = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
                    if _SUPERVISOR in argv:
                        supervisors.add(pid)
        for pid, text in shown.items():
            if b"cnry" in text:
                inside = pid not in supervisors and _is_below(pid, supervisors, parents)
                names = {n for n, forms in self._needles.items() if any(f in text for f in forms)}
                (self.in_tools if inside else self.outside).update(names)


def _is_below(pid: int, tops: set[int], parents: Mapping[int, int]) -> bool:
    while pid in parents:
        pid = parents[pid]
        if pid in tops:
            return True
    return False


@contextmanager
def sampling(needles: Mapping[str, frozenset[bytes]]) -> Iterator[Sampled]:
    """Look again and again, until the block ends."""
    sampled, ended = Sampled(needles), threading.Event()

    def again() -> None:
        while not ended.wait(_EVERY_SECONDS):
            sampled.look()

    thread = threading.Thread(target=again)
    thread.start()
    try:
        yield sampled
    finally:
        ended.set()
        thread.join()
