"""The newest complete version of a file that a tool overwrites in place survives the tool."""

import asyncio
import os
import signal
import sys

from activities.operations.spec import SNAPSHOT_FILE, Command, ToolRun
from tests.activities.operations.operation_site import KEY, SUBJECT, Site

WRITES = r"""
import json, os, sys, time
file = open("state.json", "w")
for serial in (1, 2):
    file.seek(0); file.truncate()
    file.write(json.dumps({"serial": serial})); file.flush()
    while serial == 2 and not os.path.exists("stop"): time.sleep(0.02)
file.seek(0); file.truncate(); file.flush()
os.kill(os.getpid(), 9)
"""


async def test_a_tool_killed_between_emptying_and_writing(site: Site) -> None:
    file = site.marks / "state.json"
    run = ToolRun(
        commands=[Command("script", [sys.executable, "-c", WRITES])],
        cwd=site.marks,
        environment={"PATH": os.environ["PATH"]},
        timeout_seconds=60,
        snapshots_of=file,
    )
    async with site.operations().open(KEY, SUBJECT, site.say) as operation:
        running = asyncio.create_task(operation.run("tool", run))
        kept = operation.folder / "1-tool" / SNAPSHOT_FILE
        async with asyncio.timeout(20):
            while not kept.exists() or b"2" not in kept.read_bytes():
                await asyncio.sleep(0.02)
        (site.marks / "stop").touch()
        end = await running
    assert (end.outcome, end.exits) == ("signalled", {"script": -signal.SIGKILL})
    assert file.read_bytes() == b""
    assert kept.read_bytes() == b'{"serial": 2}'
    assert kept.stat().st_mode & 0o777 == 0o600
