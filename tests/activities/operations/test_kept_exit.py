"""A command that records its own exit status: how it ended is known without its supervisor."""

import asyncio
import os
import signal
import subprocess
from pathlib import Path

import pytest

from activities.operations.spec import Command, ToolRun
from activities.operations.status import CommandStatus, Status, ToolEnd, end_of, has_begun
from store.machine import this_boot
from tests.activities.operations.operation_site import KEY, SUBJECT, Site

WAITING = "touch up; until [ -e stop ]; do sleep 0.05; done; "


def keeping(site: Site, script: str) -> ToolRun:
    return ToolRun(
        commands=[Command("script", ["/bin/sh", "-c", script], keeps_exit=True)],
        cwd=site.marks,
        environment={"PATH": os.environ["PATH"]},
        timeout_seconds=60,
    )


async def _run(site: Site, script: str, *, without_supervisor: bool) -> ToolEnd:
    operations = site.operations()
    async with operations.open(KEY, SUBJECT, site.say) as operation:
        running = asyncio.create_task(operation.run("tool", keeping(site, WAITING + script)))
        await site.mark("up")
        if without_supervisor:
            supervisor = site.supervisor("1-tool")
            os.kill(supervisor.pid, signal.SIGKILL)
            await site.gone(supervisor)
        (site.marks / "stop").touch()
        return await running


@pytest.mark.parametrize("without_supervisor", [False, True])
@pytest.mark.parametrize(
    ("script", "exit", "failed"),
    [("true", 0, None), ("exit 3", 3, "script"), ("kill -9 $$", -9, "script")],
)
async def test_its_end_is_the_same_with_and_without_its_supervisor(
    site: Site, script: str, exit: int, failed: str | None, without_supervisor: bool
) -> None:
    end = await _run(site, script, without_supervisor=without_supervisor)
    assert (end.exits, end.failed) == ({"script": exit}, failed)
    assert end.outcome == ("signalled" if exit < 0 else "exited")


async def test_a_kept_exit_says_nothing_while_something_of_the_tree_lives(site: Site) -> None:
    script = "(sleep 1; touch done) & exit 0"
    end = await _run(site, script, without_supervisor=True)
    assert end.succeeded()
    assert site.marked("done")


def test_a_shell_that_cannot_say_that_it_begins_does_not(tmp_path: Path) -> None:
    command = Command("script", ["touch", str(tmp_path / "up")], keeps_exit=True)
    assert subprocess.run(command.argv_in(tmp_path / "gone"), check=False).returncode == 126
    assert not (tmp_path / "up").exists()
    assert subprocess.run(command.argv_in(tmp_path), check=False).returncode == 0
    assert (tmp_path / "up").exists()


@pytest.mark.parametrize("outcome", ["exited", "signalled", "lease_lost", None])
def test_one_that_never_began_has_no_end(tmp_path: Path, outcome: str | None) -> None:
    exit = None if outcome is None else 126
    command = CommandStatus("script", state="ended" if outcome else "starting", exit=exit)
    status = Status("k", "tool", 1, 1, 1, [command], failed="script" if outcome else None)
    status.outcome = outcome  # type: ignore[assignment]
    status.save(tmp_path)
    assert has_begun(tmp_path) and end_of(tmp_path) is not None
    (tmp_path / "unbegun.script").write_text(this_boot())
    assert not has_begun(tmp_path) and end_of(tmp_path) is None
    (tmp_path / "unbegun.script").write_text("")
    assert has_begun(tmp_path) and end_of(tmp_path) is not None


@pytest.mark.parametrize("left", ["a folder", "a pipe", "no number", "too much"])
def test_an_exit_that_the_shell_did_not_write_is_none(tmp_path: Path, left: str) -> None:
    Status("k", "tool", 1, 1, 1, [CommandStatus("script", state="running")]).save(tmp_path)
    file = tmp_path / "exit.script"
    if left == "a folder":
        file.mkdir()
    elif left == "a pipe":
        os.mkfifo(file)
    else:
        file.write_text("0" * 100 if left == "too much" else "nothing")
    end = end_of(tmp_path)
    assert end is not None
    assert (end.outcome, end.failed) == ("lost", "script")
