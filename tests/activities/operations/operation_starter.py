"""Stands in for a worker that a test kills: opens an operation and runs a shell script for it."""

import asyncio
import json
import os
import sys
from pathlib import Path

from activities.operations.opening import Operations
from activities.operations.spec import Command, ToolRun
from store.machine import Machine
from store.opening import folder_description, open_store


async def start(root: Path, key: str, subject: str, script: str) -> None:
    data = root / "data"
    store = json.loads(os.environ.get("STORE", "null")) or folder_description(root / "store")
    operations = Operations(open_store(store), store, data, Machine.here(data))
    tool = ToolRun(
        [Command("script", ["/bin/bash", "-c", script])],
        root / "marks",
        {"PATH": os.environ["PATH"]},
        60,
    )
    async with operations.open(key, subject, print) as operation:
        await operation.run("tool", tool)


asyncio.run(start(Path(sys.argv[1]), *sys.argv[2:]))
