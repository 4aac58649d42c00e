"""Operations: how tools are run, and how it is reported that they ended."""

import asyncio
import os
import signal
import sys

import pytest

from activities.operations.spec import Command, ToolRun
from activities.operations.starting import NEEDED
from activities.tools.environment import defaults, passed_on
from contracts.errors import ToolLost
from tests.activities.operations.operation_site import KEY, SUBJECT, Site, until


async def test_a_tool_runs_with_its_own_environment_and_leaves_private_files(site: Site) -> None:
    run = ToolRun(
        [
            Command("show", [sys.executable, "-c", SHOW], stdout="show.txt"),
            Command("say", ["/bin/sh", "-c", "echo out; echo err >&2"]),
        ],
        site.marks,
        {"TOKEN": "s3cret"},
        30,
    )
    before = os.umask(0)
    try:
        async with site.operations().open(KEY, SUBJECT, site.say) as operation:
            assert operation.last is None
            assert await operation.attach() is None
            end = await operation.run("plan", run)
            assert operation.last is not None
            assert operation.last.folder == end.folder == operation.folder / "1-plan"
    finally:
        os.umask(before)
    assert end.succeeded()
    assert (end.outcome, end.exits, end.failed) == ("exited", {"show": 0, "say": 0}, None)
    names, cwd, stdin, umask = (end.folder / "show.txt").read_text().splitlines()
    assert set(names.split()) - {"LC_CTYPE"} == {"TOKEN"}  # Python sets LC_CTYPE by itself
    assert (cwd, stdin, umask) == (str(site.marks), "/dev/null", "0o77")
    assert end.last_lines() == "out\nerr"
    assert not (end.folder / "spec.json").exists()
    for path in site.data.rglob("*"):
        assert path.stat().st_mode & 0o777 == (0o700 if path.is_dir() else 0o600), path
        assert not path.is_file() or b"s3cret" not in path.read_bytes()
    assert site.said == []


@pytest.mark.skipif(not os.path.exists("/proc/self/environ"), reason="read from /proc")  # noqa: PTH110
async def test_a_supervisor_has_little_of_the_workers_environment(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EXCLAVE_TEST_SECRET", "s3cret")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "s3cret")
    monkeypatch.setenv("HTTPS_PROXY", "http://127.0.0.1:9")
    async with site.operations().open(KEY, SUBJECT, site.say) as operation:
        run = site.shell("tr '\\0' '\\n' < /proc/$PPID/environ > supervisors")
        assert (await operation.run("tool", run)).succeeded()
    lines = (site.marks / "supervisors").read_text().split("\n")
    given = dict(line.partition("=")[::2] for line in lines if line)
    assert "s3cret" not in given.values()
    assert given["HTTPS_PROXY"] == "http://127.0.0.1:9", "its store may be behind it"
    assert given.keys() <= {*passed_on(), *defaults(), *NEEDED, "PYTHONPATH"}


SHOW = """
import os
print(*os.environ)
print(os.getcwd())
print(os.readlink("/proc/self/fd/0") if os.path.exists("/proc") else "/dev/null")
print(oct(os.umask(0)))
"""


async def test_the_first_command_that_fails_ends_the_run(site: Site) -> None:
    run = ToolRun(
        [
            Command("one", ["/bin/sh", "-c", "exit 2"], ok=(0, 2)),
            Command("two", ["/bin/sh", "-c", "seq 90; echo why >&2; exit 3"], stdout="two.txt"),
            Command("three", ["/bin/sh", "-c", "touch three"]),
        ],
        site.marks,
        {"PATH": os.environ["PATH"]},
        30,
    )
    async with site.operations().open(KEY, SUBJECT, site.say) as operation:
        end = await operation.run("tool", run)
    assert not end.succeeded()
    assert (end.outcome, end.exits, end.failed) == ("exited", {"one": 2, "two": 3}, "two")
    assert not site.marked("three")
    assert end.last_lines(2) == "89\n90\nwhy"


async def test_the_last_lines_are_few(site: Site) -> None:
    async with site.operations().open(KEY, SUBJECT, site.say) as operation:
        end = await operation.run("tool", site.shell("head -c 100000 /dev/zero; exit 1"))
    assert 0 < len(end.last_lines().encode()) <= 8192


async def test_a_program_that_is_not_there_is_named(site: Site) -> None:
    run = ToolRun([Command("none", ["no-such-tool", "x"])], site.marks, {"PATH": "/bin"}, 30)
    async with site.operations().open(KEY, SUBJECT, site.say) as operation:
        end = await operation.run("tool", run)
    assert (end.outcome, end.exits, end.failed) == ("exited", {"none": 127}, "none")
    assert "no-such-tool cannot be started" in end.message


async def test_a_tool_that_is_killed_is_signalled(site: Site) -> None:
    async with site.operations().open(KEY, SUBJECT, site.say) as operation:
        run = asyncio.create_task(operation.run("tool", site.shell("touch up; exec sleep 50")))
        await site.mark("up")
        os.kill((await site.tool("1-tool")).pid, signal.SIGKILL)
        end = await run
    assert (end.outcome, end.exits, end.failed) == ("signalled", {"script": -9}, "script")
    assert not end.succeeded()


async def test_a_run_lasts_as_long_as_what_the_tool_left_running(site: Site) -> None:
    left = "(until [ -e stop ]; do sleep 0.05; done; touch left) & touch up"
    async with site.operations().open(KEY, SUBJECT, site.say) as operation:
        run = asyncio.create_task(operation.run("tool", site.shell(left)))
        await until(lambda: site.marked("up") and site.status("1-tool").commands[0].exit == 0)
        assert site.tree_lives()
        assert not run.done()
        (site.marks / "stop").touch()
        end = await run
    assert end.succeeded()
    assert site.marked("left")


async def test_runs_of_one_operation_follow_each_other(site: Site) -> None:
    async with site.operations().open(KEY, SUBJECT, site.say) as operation:
        first = await operation.run("plan", site.shell("echo 1"))
        second = await operation.run("show", site.shell("echo 2"))
        assert (first.folder.name, second.folder.name) == ("1-plan", "2-show")
        assert await operation.attach() == second


async def test_no_zombie_is_left(site: Site) -> None:
    async with site.operations().open(KEY, SUBJECT, site.say) as operation:
        await operation.run("tool", site.shell("true"))
    pid = site.supervisor("1-tool").pid

    def reaped() -> bool:
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return True
        return False

    await until(reaped)


async def test_a_supervisor_that_cannot_start_is_reported(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with site.operations().open(KEY, SUBJECT, site.say) as operation:
        monkeypatch.setattr(sys, "executable", "/bin/false")
        with pytest.raises(ToolLost, match="nothing was done"):
            await operation.run("tool", site.shell("touch up"))
        assert not (operation.folder / "1-tool" / "spec.json").exists()
        monkeypatch.undo()
        assert await operation.attach() is None
        assert (await operation.run("tool", site.shell("true"))).succeeded()


def test_a_run_that_cannot_be_told_apart_is_refused(site: Site) -> None:
    same = [Command("a", ["x"]), Command("a", ["y"])]
    for commands in ([], same, [Command("a", [])], [Command("a", ["x"], stdout="../x")]):
        with pytest.raises(ValueError, match="command"):
            ToolRun(commands, site.marks, {}, 1)
