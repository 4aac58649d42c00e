"""How many tools may run at a time: as many as the machine's free memory has room for.

A Terraform with a cloud's provider takes 620 MB. A worker that started one for each component that
is ready would be killed for want of memory, and its tools with it. At least one tool always runs;
the rest wait, and say so. What a tool is taken to need, its engine declares.
"""

import asyncio
import os
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

TOOL_BYTES = 700 * 1024 * 1024
"""What a tool is taken to need of which nothing is known, such as a script."""

_SETTLED_SECONDS = 30.0
"""A tool younger than this has not yet taken what it will need."""

_LOOK_AGAIN_SECONDS = 5.0
"""Memory that other processes give back is told by nobody."""


class MemoryLimiter:
    """Admits tools one after another, in the order in which they asked."""

    def __init__(
        self,
        available: Callable[[], int] | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Admit by what `available` says is free, in bytes; by default what the machine says."""
        self._available = available or available_bytes
        self._clock = clock
        self._running: dict[object, tuple[float, int]] = {}
        self._turn = asyncio.Lock()
        self._ended = asyncio.Event()

    @asynccontextmanager
    async def admit(
        self, say: Callable[[str], None], needs: int = TOOL_BYTES
    ) -> AsyncIterator[None]:
        """Wait until there is room for one more tool, and keep its place for the block.

        Args:
            say: Told what is waited for.
            needs: Bytes that the tool is taken to need.
        """
        async with self._turn:
            while not self._has_room(needs):
                say(f"waits for memory: {len(self._running)} tools run on this machine")
                self._ended.clear()
                try:
                    async with asyncio.timeout(_LOOK_AGAIN_SECONDS):
                        await self._ended.wait()
                except TimeoutError:
                    continue
            token = object()
            self._running[token] = self._clock(), needs
        try:
            yield
        finally:
            del self._running[token]
            self._ended.set()

    def _has_room(self, needs: int) -> bool:
        if not self._running:
            return True
        now = self._clock()
        taken = sum(more for at, more in self._running.values() if now - at < _SETTLED_SECONDS)
        return self._available() - taken >= needs


def available_bytes(proc: Path = Path("/proc"), cgroup: Path = Path("/sys/fs/cgroup")) -> int:
    """What the machine, or the container's limit where that is lower, still has to give.

    Linux: `MemAvailable`, and the limit of the process's cgroup (version 2). Elsewhere half of the
    machine's memory is taken to be free, since nothing portable tells.
    """
    meminfo = proc / "meminfo"
    if not meminfo.exists():
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // 2
    fields = dict(line.split(":", 1) for line in meminfo.read_text().split("\n") if ":" in line)
    free = int(fields["MemAvailable"].split()[0]) * 1024
    limit = _number(cgroup / "memory.max")
    used = _number(cgroup / "memory.current")
    return free if limit is None or used is None else min(free, limit - used)


def _number(path: Path) -> int | None:
    """The number in a file of the kernel's; None where there is no file, or no limit (`max`)."""
    if not path.exists():
        return None
    text = path.read_text().strip()
    return int(text) if text.isdecimal() else None
