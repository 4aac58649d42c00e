"""Watching a run to its end: its progress is told, and its plans are put before a person."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass

from client.control_plane import Plane
from client.errors import Refused
from client.following import End, Following, How, Look
from client.plans import who
from contracts.installs import RunStarted
from exclave.approval_prompts import Desk
from exclave.exits import CommandEnded, Exit
from exclave.output import Output, print_json
from exclave.screens.progress import JsonTelling, Telling, TextTelling
from exclave.screens.prompt import can_ask
from exclave.screens.terminal import Lines, write


@dataclass(frozen=True)
class Manner:
    """How a run is watched."""

    output: Output = Output.TEXT
    until_approval: bool = False
    """End as soon as nothing goes on until a plan is decided."""
    quiet_answer: bool = False
    """Standard output is for the command's answer alone; the progress goes to standard error."""
    result: Callable[[Lines, End], None] | None = None
    """Tells a person what the run gave."""
    wanted: How = "done"
    """How the run is to end; otherwise the command fails."""


async def follow_or_leave(
    plane: Plane, started: RunStarted, manner: Manner, *, detach: bool
) -> None:
    """Watch a run that was just started, or print its id and leave it; raises as `watch`."""
    if not detach:
        await watch(plane, started.workflow_id, started.run_id, manner)
    elif manner.output is Output.JSON:
        print_json({"run": started.workflow_id, "run_id": started.run_id})
    else:
        write(started.workflow_id)


async def watch(plane: Plane, run: str, run_id: str, manner: Manner) -> End:
    """Follow a run until it has ended well.

    Raises:
        Refused: it ended otherwise; the message says how and why.
        CommandEnded: it waits for an approval, and that was to be the end.
        asyncio.CancelledError: Ctrl-C; the run goes on, and it was said how to follow it.
    """
    lines = Lines(err=manner.quiet_answer)
    asks = manner.output is Output.TEXT and not manner.until_approval and can_ask()
    telling = _telling(lines, manner, hints=not asks)
    desk = Desk(plane, run, telling, lines if asks else None, by=who())
    telling.began(run, run_id)
    try:
        return await _watch(Following(plane, run, run_id), telling, desk, manner)
    except asyncio.CancelledError:
        await desk.close()
        write(f"\n{run} goes on. To follow it again:\n\n  exclave follow {run}", err=True)
        raise
    finally:
        await desk.close()


async def _watch(following: Following, telling: Telling, desk: Desk, manner: Manner) -> End:
    run = following.workflow_id
    async for look in following.looks():
        telling.look(look)
        await desk.attend(look.plans)
        if manner.until_approval and look.is_held_up:
            raise CommandEnded(Exit.WAITS, _waits(run, look))
        if look.end is not None:
            await desk.close()
            telling.ended(run, look.end)
            if look.end.how != manner.wanted:
                raise Refused(_failure(run, look.end))
            return look.end
    raise AssertionError("the last look has the end")


def _telling(lines: Lines, manner: Manner, *, hints: bool) -> Telling:
    if manner.output is Output.JSON:
        return JsonTelling(print_json)
    result = manner.result or (lambda lines, end: None)
    return TextTelling(lines, lambda end: result(lines, end), hints=hints)


def _waits(run: str, look: Look) -> str:
    waits = (
        f"{len(look.plans)} plan waits" if len(look.plans) == 1 else f"{len(look.plans)} plans wait"
    )
    return f"{waits} for an approval in {run}, which goes on waiting."


def _failure(run: str, end: End) -> str:
    if end.how == "done":
        return f"{run} had done all that it had to, before it could be cancelled."
    # Set in, so that no line of it looks like one of ours.
    many = "\n" in end.message
    told = end.message.replace("\n", "\n  ")
    return f"{run} {_HOW[end.how]}:" + ("\n  " if many else " ") + told


_HOW = {
    "failed": "failed",
    "cancelled": "was cancelled",
    "terminated": "was terminated",
    "timed out": "timed out",
}
