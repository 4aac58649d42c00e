"""Checks that the decisions of a run, which its worker answered with, can all be carried out."""

from collections.abc import Collection, Sequence

from temporalio import workflow

from apps.parts import part_shown
from contracts.deploys import Decision
from contracts.errors import BadAnswer


def refuse_endless(decisions: Sequence[Decision], settled: Collection[str]) -> None:
    """Refuse decisions that wait for a part which the run settles only later.

    That they wait for no unknown part, and not in a circle, was checked when they came in.

    Args:
        decisions: The decisions that are settled together.
        settled: The parts that were settled before.

    Raises:
        BadAnswer: a part would wait forever; names it, and what it would wait for.
    """
    there = {*settled, *(one.component for one in decisions)}
    late = next(((one, name) for one in decisions for name in one.after if name not in there), None)
    # In this order, a run whose decisions are right gets no marker of the patch.
    if late is not None and workflow.patched("decisions-come-to-an-end"):
        decision, name = late
        raise BadAnswer(
            f"The install's worker has {part_shown(decision.component)} wait for "
            f"{part_shown(name)}, which this run settles only later: that would never end."
        )
