"""Whether what a worker decided can come to an end: it is the customer's, and may be hostile."""

from collections.abc import Collection, Sequence

from temporalio import workflow

from apps.parts import part_shown
from contracts.deploys import Decision
from contracts.errors import NotUnderstood


def refuse_endless(decisions: Sequence[Decision], settled: Collection[str] = ()) -> None:
    """Refuse decisions of which some would wait for ever.

    Args:
        decisions: What is to be settled together.
        settled: The parts that were settled before.

    Raises:
        NotUnderstood: naming the part, and what it would wait for.
    """
    problem = _problem(decisions, settled)
    # Asked in this order: a run whose decisions are right has no marker of the patch.
    if problem is not None and workflow.patched("decisions-come-to-an-end"):
        raise NotUnderstood(
            f"The install's worker decided what cannot be done: {problem}. Nothing of it was "
            "begun. A worker of another version than the control plane may do that: update it, and "
            "start the run again. If it is up to date, look at who runs it."
        )


def _problem(decisions: Sequence[Decision], settled: Collection[str]) -> str | None:
    left = {one.component: set(one.after) for one in decisions}
    if len(left) < len(decisions):
        return "it names a part twice"
    for name, after in left.items():
        unknown = sorted(after - left.keys() - set(settled))
        if unknown:
            return f"{part_shown(name)} is to wait for {unknown[0]!r}, which is no part of this run"
    done = set(settled)
    while ready := [name for name, after in left.items() if after <= done]:
        done.update(ready)
        for name in ready:
            del left[name]
    if left:
        waiting = ", ".join(map(part_shown, sorted(left)))
        return f"{waiting} are to wait for each other, in a circle"
    return None
