"""The log of a tool that prints endlessly keeps its beginning and its end, at unchanged offsets."""

import asyncio
import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from activities.operations.locks import wait_free
from activities.operations.log_bound import LogKeeper, has_holes
from activities.operations.log_file import hole_in
from activities.operations.spec import OUTPUT_FILE, Command, ToolRun
from activities.operations.status import Status
from tests.activities.operations.operation_site import Site
from tests.small_disk import fill, small_disk

pytestmark = pytest.mark.process

MANY = 100 * 1024 * 1024
LINE = b"this is line %012d\n"


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    with small_disk(tmp_path / "disk", 64) as place:
        yield place


def lines_at(file: Path, start: int, size: int) -> bytes:
    with file.open("rb") as log:
        return os.pread(log.fileno(), size, start)


async def test_a_tool_that_prints_far_more_than_the_disk_holds(disk: Path) -> None:
    assert has_holes(disk)
    site = Site(disk)
    script = f"for n in range({MANY} // 26): print('this is line %012d' % n)"
    run = ToolRun(
        [Command("prints", ["python3", "-c", script])], disk, {"PATH": os.environ["PATH"]}, 300
    )
    async with site.operations().open("run/net/print", "net", lambda words: None) as operation:
        end = await operation.run("prints", run)
    assert end.succeeded(), end.last_lines()
    log = end.folder / OUTPUT_FILE
    size = log.stat().st_size
    assert size == MANY // 26 * 26
    hole = hole_in(log)
    assert hole is not None
    for start in (0, hole.start - 5200, hole.end, size - 1040):
        first = -(-start // 26)
        found = lines_at(log, first * 26, 1040)
        assert found == b"".join(LINE % n for n in range(first, first + 40))
    assert log.stat().st_blocks * 512 < 32 * 1024 * 1024
    assert end.last_lines(1) == (LINE % (MANY // 26 - 1)).decode().strip()


def test_the_room_for_the_end_is_there_when_the_disk_is_full(disk: Path) -> None:
    folder = disk / "run"
    folder.mkdir()
    keeper = LogKeeper(folder, with_room=True)
    fill(disk)
    with (folder / OUTPUT_FILE).open("ab", buffering=0) as log:
        assert log.write(b"x" * 512 * 1024) == 512 * 1024
        with pytest.raises(OSError, match="No space left"):
            (disk / "more").write_bytes(b"x" * 8192)
    keeper.end(is_over=True)
    assert (folder / OUTPUT_FILE).stat().st_size == 512 * 1024
    assert (disk / "more").write_bytes(b"x" * 8192), "what was not needed is given back"


def test_a_printed_state_is_kept_whole(disk: Path) -> None:
    folder = disk / "run"
    folder.mkdir()
    keeper = LogKeeper(folder, with_room=True)
    begins = b'{\n  "version": 4,\n  "terraform_version": "1.11.4",\n'
    state = begins + b'  "x": "y",\n' * 1_000_000 + b"}\n"
    with (folder / OUTPUT_FILE).open("ab") as log:
        log.write(b"before\n" * 1_000_000)
        log.flush()
        while keeper.bound():
            pass
        log.write(state)
    assert not keeper.bound()
    hole = hole_in(folder / OUTPUT_FILE)
    assert hole is not None
    assert hole.end <= 7_000_000
    assert (folder / OUTPUT_FILE).read_bytes().endswith(state)


async def test_without_its_supervisor_a_tool_does_not_fill_the_disk_either(disk: Path) -> None:
    """The attempt that waits for the tool bounds its log instead."""
    site, go_on = Site(disk), disk / "go-on"
    os.mkfifo(go_on)
    script = f"echo begun; read word < {go_on}; yes some words | head -c {MANY}; echo; echo end"
    run = ToolRun(
        [Command("prints", ["/bin/sh", "-c", script])], disk, {"PATH": os.environ["PATH"]}, 300
    )
    async with site.operations().open("run/net/print", "net", lambda words: None) as operation:
        running = asyncio.create_task(operation.run("prints", run))
        async with asyncio.timeout(60):
            while not any(b"begun" in log.read_bytes() for log in disk.rglob(OUTPUT_FILE)):
                await asyncio.sleep(0.02)
        [log] = disk.rglob(OUTPUT_FILE)
        status = Status.load(log.parent)
        assert status is not None and status.supervisor is not None
        os.kill(status.supervisor.pid, signal.SIGKILL)
        await wait_free(site.locks / "supervisor.lock")
        opened = go_on.open("w")
        opened.write("on\n")
        opened.close()
        end = await running
    assert end.last_lines(1).endswith("end")
    assert log.stat().st_size > MANY
    assert log.stat().st_blocks * 512 < 48 * 1024 * 1024
