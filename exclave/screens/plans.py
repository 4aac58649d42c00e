"""Shows a plan to a person before they decide, as a diff."""

from apps.display_text import lines_of
from apps.parts import part_shown
from contracts.deploys import WaitingPlan
from exclave.screens.terminal import Lines

_COLOURS = {"-/+": "yellow", "<-": "cyan", "->": "cyan", "+": "green", "-": "red", "~": "yellow"}
"""Colours by the beginning of a line; the longest beginnings first."""


def show_plan(lines: Lines, plan: WaitingPlan, text: str) -> None:
    """Write a plan's heading and its view."""
    what = "The plan to tear down" if plan.teardown else "The plan of"
    lines()
    lines(lines.paint(f"{what} {part_shown(plan.component)} ({plan.changes})", bold=True))
    lines(f"{plan.digest}")
    lines()
    for line in lines_of(text.rstrip("\n")):
        lines("  " + lines.paint(line, _colour(line)) if line.strip() else "")
    lines()


def how_to_decide(run: str, plan: WaitingPlan) -> list[str]:
    """The commands that approve or deny a waiting plan."""
    return [
        f"exclave approve {run} {plan.digest}",
        f"exclave deny {run} {plan.digest} --reason '…'",
    ]


def _colour(line: str) -> str | None:
    begin = line.lstrip()
    return next((colour for sign, colour in _COLOURS.items() if begin.startswith(sign + " ")), None)
