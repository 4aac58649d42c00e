"""Reports the progress of a followed run: a line or a JSON document for each change."""

from collections.abc import Callable
from typing import Any, Protocol

from apps.display_text import shown_output
from apps.parts import part_shown
from client.following import End, Snapshot
from contracts.deploys import WaitingPlan
from exclave.screens.plans import how_to_decide, show_plan
from exclave.screens.terminal import Lines

_COLOURS = {
    "applied": "green",
    "torn down": "green",
    "done": "green",
    "unchanged": "green",
    "failed": "red",
    "cancelled": "red",
    "not attempted": "red",
    "waits for approval": "yellow",
}
_NOT_BEGUN = frozenset({"waits"})
"""States of parts that have not begun; they are reported once they have."""
_UNDER_WAY = frozenset({"working", "waits for approval"})


class Reporter(Protocol):
    """Reports a run's progress to a person or a program."""

    def began(self, run: str, run_id: str) -> None:
        """The run is being followed."""

    def report(self, snapshot: Snapshot) -> None:
        """Report what is new in this snapshot."""

    def plan(self, run: str, plan: WaitingPlan, text: str) -> None:
        """A plan waits for an approval; `text` is its view."""

    def no_view(self, run: str, plan: WaitingPlan, why: str) -> None:
        """A plan waits for an approval, but cannot be shown now."""

    def decided(self, plan: WaitingPlan, how: str) -> None:
        """A plan that was shown is not waiting any more."""

    def ended(self, run: str, end: End) -> None:
        """The run has ended."""


class News:
    """Finds what is new in a snapshot, compared with earlier ones."""

    def __init__(self) -> None:
        self._doing = ""
        self._parts: dict[str, tuple[str, str]] = {}
        self._notes: dict[str, str] = {}
        self._trouble = ""

    def of(self, snapshot: Snapshot) -> list[dict[str, str]]:
        """An event for each thing that changed."""
        parts = self._of_parts(snapshot)
        return [
            *self._of_trouble(snapshot),
            # First what is finished, then what the run as a whole does now, then what is running.
            *(one for one in parts if one["state"] not in _UNDER_WAY),
            *self._of_doing(snapshot),
            *(one for one in parts if one["state"] in _UNDER_WAY),
            *self._of_notes(snapshot),
        ]

    def _of_trouble(self, snapshot: Snapshot) -> list[dict[str, str]]:
        before, self._trouble = self._trouble, snapshot.trouble
        if before == snapshot.trouble:
            return []
        return [
            {"event": "trouble", "words": snapshot.trouble or "The control plane answers again."}
        ]

    def _of_doing(self, snapshot: Snapshot) -> list[dict[str, str]]:
        before, self._doing = self._doing, snapshot.doing
        is_old = snapshot.doing in {before, ""} or snapshot.end is not None
        return [] if is_old else [{"event": "doing", "words": snapshot.doing}]

    def _of_parts(self, snapshot: Snapshot) -> list[dict[str, str]]:
        found = []
        for part in snapshot.parts:
            now = (part.state, part.words)
            if self._parts.get(part.name) == now or part.state in _NOT_BEGUN:
                continue
            self._parts[part.name] = now
            found.append(
                {"event": "part", "part": part.name, "state": part.state, "words": part.words}
            )
        return found

    def _of_notes(self, snapshot: Snapshot) -> list[dict[str, str]]:
        new = {
            name: words for name, words in snapshot.notes.items() if self._notes.get(name) != words
        }
        self._notes |= new
        return [{"event": "note", "of": name, "words": words} for name, words in new.items()]


class TextReporter:
    """Lines for a person."""

    def __init__(self, lines: Lines, ended: Callable[[End], None], *, hints: bool = True) -> None:
        """Prepare.

        Args:
            lines: Where to write.
            ended: Prints the run's result once it has ended well.
            hints: Whether to print, below a plan, the commands that decide it.
        """
        self._hints = hints
        self._lines = lines
        self._ended = ended
        self._news = News()
        self._width = 0

    def began(self, run: str, run_id: str) -> None:
        """The run is being followed."""
        name = self._lines.paint(run, bold=True)
        self._lines(f"Following {name}; Ctrl-C stops following, and the run goes on.")

    def report(self, snapshot: Snapshot) -> None:
        """Report what is new in this snapshot."""
        self._width = max([self._width, *(len(part_shown(part.name)) for part in snapshot.parts)])
        for one in self._news.of(snapshot):
            # It may contain many lines that a tool printed; none of them may look like ours.
            self._lines.block(self._line(one), rest="      ")

    def _line(self, one: dict[str, str]) -> str:
        words = shown_output(one["words"])
        if one["event"] == "part":
            state = self._lines.paint(one["state"], _COLOURS.get(one["state"]))
            return f"  {part_shown(one['part']):<{self._width}}  {state}" + (
                f": {words}" if words else ""
            )
        if one["event"] == "note":
            return f"  {one['of']}: {words}"
        return f"{words[:1].upper()}{words[1:]}" if one["event"] == "doing" else words

    def plan(self, run: str, plan: WaitingPlan, text: str) -> None:
        """Show the plan, and the commands that decide it."""
        show_plan(self._lines, plan, text)
        if self._hints:
            for command in how_to_decide(run, plan):
                self._lines(f"    {command}")
            self._lines()

    def no_view(self, run: str, plan: WaitingPlan, why: str) -> None:
        """Say why the plan cannot be shown, and how to see it later."""
        name = part_shown(plan.component)
        self._lines(f"  {name} waits for an approval, but its plan cannot be shown now: {why}")
        self._lines(f"    exclave plan {run} --component {name}")

    def decided(self, plan: WaitingPlan, how: str) -> None:
        """Say what became of the plan."""
        self._lines(f"  {part_shown(plan.component)}: the plan {how}")

    def ended(self, run: str, end: End) -> None:
        """Report the end and, if it is good, the result."""
        if end.how == "done":
            self._lines(
                f"{self._lines.paint(run, bold=True)} is {self._lines.paint('done', 'green')}."
            )
            self._ended(end)


class JsonReporter:
    """JSON documents for a program, one per line."""

    def __init__(self, write: Callable[[Any], None]) -> None:
        self._write = write
        self._news = News()

    def began(self, run: str, run_id: str) -> None:
        """The run is being followed."""
        self._write({"event": "began", "run": run, "run_id": run_id})

    def report(self, snapshot: Snapshot) -> None:
        """Report what is new in this snapshot."""
        for one in self._news.of(snapshot):
            self._write(one)

    def plan(self, run: str, plan: WaitingPlan, text: str) -> None:
        """Report a waiting plan with its view."""
        self._write({"event": "plan", "run": run, **plan.model_dump(mode="json"), "text": text})

    def no_view(self, run: str, plan: WaitingPlan, why: str) -> None:
        """Report a waiting plan without its view."""
        self._write({"event": "plan", "run": run, **plan.model_dump(mode="json"), "trouble": why})

    def decided(self, plan: WaitingPlan, how: str) -> None:
        """Report what became of a plan."""
        self._write(
            {"event": "decided", "component": plan.component, "digest": plan.digest, "how": how}
        )

    def ended(self, run: str, end: End) -> None:
        """Report the end and the result."""
        self._write(
            {
                "event": "ended",
                "run": run,
                "how": end.how,
                "message": end.message,
                "result": end.result,
            }
        )
