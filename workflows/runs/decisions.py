"""Whether what is settled together can come to an end: decisions are a worker's answer."""

from collections.abc import Collection, Sequence

from temporalio import workflow

from apps.parts import part_shown
from contracts.deploys import Decision
from contracts.errors import BadAnswer


def refuse_endless(decisions: Sequence[Decision], settled: Collection[str]) -> None:
    """Refuse decisions of which some would wait for what the run settles only after them.

    That they wait for no stranger, and in no circle, was seen when they came in.

    Args:
        decisions: What is to be settled together.
        settled: The parts that were settled before.

    Raises:
        BadAnswer: naming the part, and what it would wait for.
    """
    there = {*settled, *(one.component for one in decisions)}
    late = next(((one, name) for one in decisions for name in one.after if name not in there), None)
    # Asked in this order: a run whose decisions are right has no marker of the patch.
    if late is not None and workflow.patched("decisions-come-to-an-end"):
        decision, name = late
        raise BadAnswer(
            f"The install's worker has {part_shown(decision.component)} wait for "
            f"{part_shown(name)}, which comes after it in this run: that would never end."
        )
