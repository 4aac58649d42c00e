import asyncio
from pathlib import Path

from activities.operations.memory import TOOL_BYTES, MemoryLimiter, available_bytes


async def _admitted(limiter: MemoryLimiter, said: list[str], end: asyncio.Event) -> None:
    async with limiter.admit(said.append):
        said.append("runs")
        await end.wait()


async def _settle() -> None:
    for _ in range(10):
        await asyncio.sleep(0)


async def test_one_tool_always_runs_and_the_next_waits_for_its_end() -> None:
    limiter = MemoryLimiter(available=lambda: 0)
    first: list[str] = []
    second: list[str] = []
    ends = asyncio.Event(), asyncio.Event()
    tasks = [
        asyncio.create_task(_admitted(limiter, first, ends[0])),
        asyncio.create_task(_admitted(limiter, second, ends[1])),
    ]
    await _settle()
    assert first == ["runs"]
    assert second == ["waits for memory: 1 tools run on this machine"]
    ends[0].set()
    await _settle()
    assert second[-1] == "runs"
    ends[1].set()
    await asyncio.gather(*tasks)


async def test_a_young_tool_is_taken_to_need_what_it_has_not_taken_yet() -> None:
    now = [0.0]
    limiter = MemoryLimiter(available=lambda: 3 * TOOL_BYTES, clock=lambda: now[0])
    said: list[str] = []
    end = asyncio.Event()
    tasks = [asyncio.create_task(_admitted(limiter, said, end)) for _ in range(4)]
    await _settle()
    # Only three fit: they are young, so all that they are assumed to need counts as taken.
    assert said.count("runs") == 3
    end.set()
    await asyncio.gather(*tasks)
    assert said.count("runs") == 4


async def test_who_is_cancelled_while_waiting_lets_the_next_in() -> None:
    limiter = MemoryLimiter(available=lambda: 0)
    end = asyncio.Event()
    said: list[str] = []
    running = asyncio.create_task(_admitted(limiter, [], end))
    await _settle()
    waiting = asyncio.create_task(_admitted(limiter, [], asyncio.Event()))
    third = asyncio.create_task(_admitted(limiter, said, end))
    await _settle()
    waiting.cancel()
    await asyncio.wait({waiting})
    end.set()
    await asyncio.gather(running, third)
    assert said[-1] == "runs"


def test_a_containers_limit_counts(tmp_path: Path) -> None:
    (tmp_path / "meminfo").write_text("MemTotal: 100 kB\nMemAvailable: 50 kB\n")
    assert available_bytes(tmp_path, tmp_path) == 50 * 1024
    (tmp_path / "memory.max").write_text("max\n")
    (tmp_path / "memory.current").write_text("1024\n")
    assert available_bytes(tmp_path, tmp_path) == 50 * 1024
    (tmp_path / "memory.max").write_text("11264\n")
    assert available_bytes(tmp_path, tmp_path) == 10 * 1024
