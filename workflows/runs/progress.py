"""What people see of a run that changes an install: its details, and how far each part is."""

from collections.abc import Sequence

from apps.display_text import shown_markdown
from apps.parts import part_shown
from contracts.deploys import Decision, PartProgress
from workflows.runs.part import RunState


def part_progress(decision: Decision, state: RunState | None) -> PartProgress:
    """How far the run is with a part."""
    name = decision.component
    if state is None or (name not in state.outcomes and name not in state.running):
        after = ", ".join(part_shown(one) for one in decision.after)
        words = f"for {after}" if after else decision.reason
        return PartProgress(component=name, state="waits", words=words)
    if name in state.outcomes:
        outcome = state.outcomes[name]
        return PartProgress(component=name, state=outcome.outcome, words=outcome.reason)
    asked = any(plan.component == name for plan in state.approvals.waiting())
    words = state.running[name]
    return PartProgress(
        component=name, state="waits for approval" if asked else "working", words=words
    )


def run_details(
    title: str, state: RunState | None, decisions: Sequence[Decision], waits_for_turn: bool
) -> str:
    """What the Temporal UI shows of the run: its title, what waits, then a line for each part."""
    if state is None:
        waits = "\n\nIt **waits for its turn**: another run changes the install."
        return title + (waits if waits_for_turn else "")
    waiting = state.approvals.waiting()
    lines = [
        f"- **{part_shown(plan.component)}** waits for an approval: `{plan.digest}` "
        f"({plan.changes})"
        for plan in waiting
    ]
    asked = {plan.component for plan in waiting}
    lines += [
        f"- {part_shown(name)}: {words}"
        for name, words in state.running.items()
        if name not in asked
    ]
    lines += [
        f"- {part_shown(one.component)}: {one.outcome}"
        + (f" ({shown_markdown(one.reason)})" if one.reason else "")
        for one in state.outcomes.values()
    ]
    begun = {*state.running, *state.outcomes}
    later = [part_shown(one.component) for one in decisions if one.component not in begun]
    lines += [f"- later: {', '.join(later)}"] if later else []
    return "\n".join([title, "", *lines])
