"""Watches a run to its end: reports its progress, and asks a person about its plans."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass

from client.control_plane import ControlPlane
from client.errors import Refused
from client.following import End, Following, How, Snapshot
from client.plans import user_name
from contracts.installs import RunStarted
from exclave.approval_prompts import ApprovalPrompts
from exclave.exits import CommandEnded, Exit
from exclave.output import Output, print_json
from exclave.screens.progress import JsonReporter, Reporter, TextReporter
from exclave.screens.prompt import can_ask
from exclave.screens.terminal import Lines, write


@dataclass(frozen=True)
class WatchOptions:
    """How a run is watched."""

    output: Output = Output.TEXT
    until_approval: bool = False
    """Exit as soon as the run only waits for plans to be decided."""
    quiet_answer: bool = False
    """Only the command's answer goes to standard output; the progress goes to standard error."""
    result: Callable[[Lines, End], None] | None = None
    """Prints the run's result for a person."""
    wanted: How = "done"
    """The expected end; if the run ends otherwise, the command fails."""


async def follow_or_leave(
    plane: ControlPlane, started: RunStarted, options: WatchOptions, *, detach: bool
) -> None:
    """Watch a run that was just started, or print its id and leave it; raises as `watch`."""
    if not detach:
        await watch(plane, started.workflow_id, started.run_id, options)
    elif options.output is Output.JSON:
        print_json({"run": started.workflow_id, "run_id": started.run_id})
    else:
        write(started.workflow_id)


async def watch(plane: ControlPlane, run: str, run_id: str, options: WatchOptions) -> End:
    """Follow a run until it has ended well.

    Raises:
        Refused: it ended otherwise; the message says how and why.
        CommandEnded: it waits for an approval, and `until_approval` is set.
        asyncio.CancelledError: Ctrl-C; the run goes on, and how to follow it was printed.
    """
    lines = Lines(err=options.quiet_answer)
    asks = options.output is Output.TEXT and not options.until_approval and can_ask()
    reporter = _reporter(lines, options, hints=not asks)
    prompts = ApprovalPrompts(plane, run, reporter, lines if asks else None, by=user_name())
    reporter.began(run, run_id)
    try:
        return await _watch(Following(plane, run, run_id), reporter, prompts, options)
    except asyncio.CancelledError:
        await prompts.close()
        write(f"\n{run} is still running. To follow it again:\n\n  exclave follow {run}", err=True)
        raise
    finally:
        await prompts.close()


async def _watch(
    following: Following, reporter: Reporter, prompts: ApprovalPrompts, options: WatchOptions
) -> End:
    run = following.workflow_id
    async for snapshot in following.snapshots():
        reporter.report(snapshot)
        await prompts.update(snapshot.plans)
        if options.until_approval and snapshot.is_held_up:
            raise CommandEnded(Exit.WAITS, _waits(run, snapshot))
        if snapshot.end is not None:
            await prompts.close()
            reporter.ended(run, snapshot.end)
            if snapshot.end.how != options.wanted:
                raise Refused(_failure(run, snapshot.end))
            return snapshot.end
    raise AssertionError("the last snapshot has the end")


def _reporter(lines: Lines, options: WatchOptions, *, hints: bool) -> Reporter:
    if options.output is Output.JSON:
        return JsonReporter(print_json)
    result = options.result or (lambda lines, end: None)
    return TextReporter(lines, lambda end: result(lines, end), hints=hints)


def _waits(run: str, snapshot: Snapshot) -> str:
    waits = (
        f"{len(snapshot.plans)} plan waits"
        if len(snapshot.plans) == 1
        else f"{len(snapshot.plans)} plans wait"
    )
    return f"{waits} for an approval in {run}, which keeps waiting."


def _failure(run: str, end: End) -> str:
    if end.how == "done":
        return f"{run} had finished before it could be cancelled."
    # Indented, so that no line of it looks like one of ours.
    many = "\n" in end.message
    indented = end.message.replace("\n", "\n  ")
    return f"{run} {_HOW[end.how]}:" + ("\n  " if many else " ") + indented


_HOW = {
    "failed": "failed",
    "cancelled": "was cancelled",
    "terminated": "was terminated",
    "timed out": "timed out",
}
