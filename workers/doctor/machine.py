"""Checks the machine itself: space on its disk, and tools."""

from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path

from activities.disk import room
from activities.engines import Engine
from activities.operations.log_bound import has_holes
from activities.tools.tool import Tool
from contracts.errors import EngineFailed, ToolMissing, Unreachable
from store.reserve import has_room
from wire.network.probing import Fails, bounded
from workers.doctor.enrolment import WORKERS_USER
from workers.doctor.findings import Finding, Findings


async def examine_disk(data: Path) -> list[Finding]:
    """Check whether the disk of the data folder has space and can be written."""
    found = Findings("this machine")

    def look() -> str:
        said = f"{data} is on a disk with {room(data)}"
        if not has_room(data):
            raise Fails(
                f"{said}: it is full",
                "Free some space there; waiting work then goes on by itself.",
            )
        try:
            bounded_logs = has_holes(data)
        except OSError as error:
            raise Fails(f"{said}, and cannot be written: {error.strerror}", WORKERS_USER) from None
        if bounded_logs:
            return said
        return f"{said}; its file system lacks sparse files, so logs of tools are kept in full"

    await found.check("disk", bounded(look))
    return found.all


async def examine_tools(engines: Iterable[Engine]) -> list[Finding]:
    """Check whether the engines' tools are found, and report their versions and paths."""
    found = Findings("this machine")

    def look(find_tool: Callable[[], Tool]) -> str:
        try:
            tool = find_tool()
        except (ToolMissing, EngineFailed, Unreachable) as error:
            raise Fails(error.message, "It must be on the PATH of the worker's unit.") from None
        return f"{tool.name} {tool.version} at {tool.path}"

    for engine in engines:
        if engine.find_tool is not None:
            await found.check(engine.spec.name, bounded(partial(look, engine.find_tool)))
    return found.all
