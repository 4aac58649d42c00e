"""A command that writes its own exit status down: its end is known without its supervisor."""

import asyncio
import os
import signal

import pytest

from activities.operations.operation import ToolEnd
from activities.operations.spec import Command, ToolRun
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
    script = "(until [ -e later ]; do sleep 0.05; done; touch done) & exit 0"
    running = asyncio.create_task(_run(site, script, without_supervisor=True))
    await site.mark("stop")
    await asyncio.sleep(0.3)
    assert not running.done()
    (site.marks / "later").touch()
    end = await running
    assert end.succeeded()
    assert site.marked("done")
