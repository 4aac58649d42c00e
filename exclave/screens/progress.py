"""What a followed run tells: a line whenever something changed, or a JSON document."""

from collections.abc import Callable
from typing import Any, Protocol

from apps.display_text import shown_output
from apps.parts import part_shown
from client.following import End, Look
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
_NOT_TOLD = frozenset({"waits"})
"""Of a part that has not begun: it is told once it has."""
_UNDER_WAY = frozenset({"working", "waits for approval"})


class Telling(Protocol):
    """Tells a person or a program how a run goes."""

    def began(self, run: str, run_id: str) -> None:
        """The run is being followed."""

    def look(self, look: Look) -> None:
        """What it looks like now; only what is new is told."""

    def plan(self, run: str, plan: WaitingPlan, text: str) -> None:
        """A plan waits for an approval, and this is what it says."""

    def no_view(self, run: str, plan: WaitingPlan, why: str) -> None:
        """A plan waits for an approval, and cannot be shown now."""

    def decided(self, plan: WaitingPlan, how: str) -> None:
        """A plan that was shown does not wait any more."""

    def ended(self, run: str, end: End) -> None:
        """The run has ended."""


class News:
    """Finds what is new in a look, compared with those before."""

    def __init__(self) -> None:
        self._doing = ""
        self._parts: dict[str, tuple[str, str]] = {}
        self._notes: dict[str, str] = {}
        self._trouble = ""

    def of(self, look: Look) -> list[dict[str, str]]:
        """An event for each thing that changed."""
        parts = self._of_parts(look)
        return [
            *self._of_trouble(look),
            # What the run as a whole does now comes after what it has done.
            *(one for one in parts if one["state"] not in _UNDER_WAY),
            *self._of_doing(look),
            *(one for one in parts if one["state"] in _UNDER_WAY),
            *self._of_notes(look),
        ]

    def _of_trouble(self, look: Look) -> list[dict[str, str]]:
        before, self._trouble = self._trouble, look.trouble
        if before == look.trouble:
            return []
        return [{"event": "trouble", "words": look.trouble or "The control plane answers again."}]

    def _of_doing(self, look: Look) -> list[dict[str, str]]:
        before, self._doing = self._doing, look.doing
        is_old = look.doing in {before, ""} or look.end is not None
        return [] if is_old else [{"event": "doing", "words": look.doing}]

    def _of_parts(self, look: Look) -> list[dict[str, str]]:
        found = []
        for part in look.parts:
            now = (part.state, part.words)
            if self._parts.get(part.name) == now or part.state in _NOT_TOLD:
                continue
            self._parts[part.name] = now
            found.append(
                {"event": "part", "part": part.name, "state": part.state, "words": part.words}
            )
        return found

    def _of_notes(self, look: Look) -> list[dict[str, str]]:
        new = {name: words for name, words in look.notes.items() if self._notes.get(name) != words}
        self._notes |= new
        return [{"event": "note", "of": name, "words": words} for name, words in new.items()]


class TextTelling:
    """Lines for a person."""

    def __init__(self, lines: Lines, ended: Callable[[End], None], *, hints: bool = True) -> None:
        """Prepare.

        Args:
            lines: Where they go.
            ended: Tells what the run gave, once it has ended well.
            hints: Under a plan stands what to type to decide it.
        """
        self._hints = hints
        self._lines = lines
        self._ended = ended
        self._news = News()
        self._width = 0

    def began(self, run: str, run_id: str) -> None:
        """The run is being followed."""
        self._lines(f"{self._lines.paint(run, bold=True)} is being followed; Ctrl-C leaves it be.")

    def look(self, look: Look) -> None:
        """Tell what is new."""
        self._width = max([self._width, *(len(part_shown(part.name)) for part in look.parts)])
        for one in self._news.of(look):
            # What a tool printed may be in it, in many lines: none of them is to look like ours.
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
        """Show the plan, and what to type."""
        show_plan(self._lines, plan, text)
        if self._hints:
            for command in how_to_decide(run, plan):
                self._lines(f"    {command}")
            self._lines()

    def no_view(self, run: str, plan: WaitingPlan, why: str) -> None:
        """Say why the plan is not shown, and how to see it later."""
        name = part_shown(plan.component)
        self._lines(f"  {name} waits for an approval, and its plan cannot be shown now: {why}")
        self._lines(f"    exclave plan {run} --component {name}")

    def decided(self, plan: WaitingPlan, how: str) -> None:
        """Say what became of the plan."""
        self._lines(f"  {part_shown(plan.component)}: the plan {how}")

    def ended(self, run: str, end: End) -> None:
        """Say how it ended, and what it gave."""
        if end.how == "done":
            self._lines(
                f"{self._lines.paint(run, bold=True)} is {self._lines.paint('done', 'green')}."
            )
            self._ended(end)


class JsonTelling:
    """A JSON document for a program, one a line."""

    def __init__(self, write: Callable[[Any], None]) -> None:
        self._write = write
        self._news = News()

    def began(self, run: str, run_id: str) -> None:
        """The run is being followed."""
        self._write({"event": "began", "run": run, "run_id": run_id})

    def look(self, look: Look) -> None:
        """Tell what is new."""
        for one in self._news.of(look):
            self._write(one)

    def plan(self, run: str, plan: WaitingPlan, text: str) -> None:
        """A plan waits, with its view."""
        self._write({"event": "plan", "run": run, **plan.model_dump(mode="json"), "text": text})

    def no_view(self, run: str, plan: WaitingPlan, why: str) -> None:
        """A plan waits, without its view."""
        self._write({"event": "plan", "run": run, **plan.model_dump(mode="json"), "trouble": why})

    def decided(self, plan: WaitingPlan, how: str) -> None:
        """What became of a plan."""
        self._write(
            {"event": "decided", "component": plan.component, "digest": plan.digest, "how": how}
        )

    def ended(self, run: str, end: End) -> None:
        """How it ended, and what it gave."""
        self._write(
            {
                "event": "ended",
                "run": run,
                "how": end.how,
                "message": end.message,
                "result": end.result,
            }
        )
