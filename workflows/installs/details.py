"""What the Temporal UI shows of an install."""

from apps.display_text import shown_markdown
from apps.parts import part_shown
from contracts.deploys import Inputs
from contracts.installs import ConnectedWorker
from workflows.installs.standing import Standing
from workflows.installs.turn_queue import TurnQueue


def install_details(
    worker: ConnectedWorker | None, turns: TurnQueue, inputs: Inputs, standing: Standing
) -> str:
    """The install's current details, as Markdown: a failure first, then a line for each fact."""
    holder = turns.holder.turn.workflow_id if turns.holder else "free"
    lines = [
        f"- worker: {_worker(worker)}",
        f"- release: {standing.release or 'none yet'}",
        f"- turn: {shown_markdown(holder)}",
        *(f"- waits for the turn: {shown_markdown(one.workflow_id)}" for one in turns.waiting),
        f"- inputs: revision {inputs.revision}",
        *(
            f"- {part_shown(one.component)}: {one.outcome} by {shown_markdown(one.workflow_id)}"
            for one in standing.parts
        ),
    ]
    failure = standing.failure
    if failure is not None:
        message = shown_markdown(f"{failure.workflow_id}: {failure.message}")
        lines.insert(0, f"- **failed**: {message}")
    return "\n".join(lines)


def _worker(worker: ConnectedWorker | None) -> str:
    if worker is None:
        return "**has not connected yet**"
    seen = worker.seen[:19].replace("T", " ")
    return f"seen {seen} UTC on {shown_markdown(worker.description.host)}"
