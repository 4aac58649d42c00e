"""Limits how many tools run at a time by the machine's free memory.

Terraform with a cloud's provider takes 620 MB. A worker that started one for each component that is
ready would run out of memory and be killed, and its tools with it. At least one tool always runs;
the others wait, and say so. Each engine declares how much memory its tool is assumed to need.
"""

import asyncio
import os
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

TOOL_BYTES = 700 * 1024 * 1024
"""Assumed for a tool about which nothing is known, such as a script."""

_SETTLED_SECONDS = 30.0
"""A tool that started less than this ago has not yet allocated all that it will need."""

_LOOK_AGAIN_SECONDS = 5.0
"""Nothing signals that another process has freed memory, so it is checked this often."""


class MemoryLimiter:
    """Admits tools one after another, in the order in which they asked."""

    def __init__(
        self,
        available: Callable[[], int] | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Admit by the free memory that `available` returns in bytes; by default the machine's."""
        self._available = available or available_bytes
        self._clock = clock
        self._running: dict[object, tuple[float, int]] = {}
        self._turn = asyncio.Lock()
        self._ended = asyncio.Event()

    @asynccontextmanager
    async def admit(
        self, say: Callable[[str], None], needs: int = TOOL_BYTES
    ) -> AsyncIterator[None]:
        """Wait until there is room for one more tool, and reserve it for the block.

        Args:
            say: Called with a text for people while the tool must wait.
            needs: Bytes that the tool is assumed to need.
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
    """The free memory of the machine, or what is left of the container's limit if that is less.

    Linux: `MemAvailable`, and the limit of the process's cgroup (version 2). Elsewhere half of the
    machine's memory is assumed to be free, since there is no portable way to ask.
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
    """The number in a kernel file; None if there is no such file, or no limit (`max`)."""
    if not path.exists():
        return None
    text = path.read_text().strip()
    return int(text) if text.isdecimal() else None
