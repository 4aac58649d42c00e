"""Plans that wait for a person: found, read, and decided by their digest."""

import getpass
from collections.abc import Sequence
from dataclasses import dataclass

from apps.parts import part_shown
from contracts.deploys import Approval, PlanView, ViewRequest, Waiting, WaitingPlan
from exclave.exits import Refused
from exclave.plane import Plane


async def waiting_plans(plane: Plane, run: str) -> list[WaitingPlan]:
    """The plans of a run that wait for an approval.

    Raises:
        NoSuchRun: it has ended, or there is no such run.
        Away: no control worker answers, or Temporal does not.
    """
    return (await plane.ask(run, "waiting", Waiting, ended=False)).plans


async def view_of(plane: Plane, run: str, plan: WaitingPlan) -> str:
    """All pages of a plan's view.

    Raises:
        Away: the install's worker, which keeps the plan, does not answer.
        Refused: the plan does not wait any more.
    """
    text, page, pages = [], 1, 1
    while page <= pages:
        view = await plane.tell(run, "view", ViewRequest(digest=plan.digest, page=page), PlanView)
        text.append(view.text)
        page, pages = page + 1, view.pages
    return "".join(text)


def who() -> str:
    """The name of whoever types; empty where the machine does not know it."""
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return ""


@dataclass(frozen=True)
class Decision:
    """What a person says of a plan."""

    approved: bool
    by: str = ""
    reason: str = ""


async def decide(plane: Plane, run: str, digest: str, decision: Decision) -> WaitingPlan:
    """Approve or deny exactly this plan.

    Raises:
        Refused: it does not wait; the message names what does.
    """
    update = "approve" if decision.approved else "deny"
    approval = Approval(digest=digest, by=decision.by, reason=decision.reason)
    return await plane.tell(run, update, approval, WaitingPlan)


def of_component(plans: Sequence[WaitingPlan], name: str, run: str) -> WaitingPlan:
    """The plan of a component; the sandbox is named as people read it.

    Raises:
        Refused: none of its plans waits.
    """
    exact = [one for one in plans if one.component == name]
    found = exact or [one for one in plans if part_shown(one.component) == name]
    if not found:
        raise Refused(f"No plan of {name} waits for an approval in {run}. {listed(plans)}")
    return found[0]


def by_digest(plans: Sequence[WaitingPlan], digest: str, run: str) -> WaitingPlan:
    """The plan with this digest, or with the only one that begins so.

    Raises:
        Refused: none waits, or several do.
    """
    begin = digest if digest.startswith("sha256:") else f"sha256:{digest}"
    found = [one for one in plans if one.digest.startswith(begin)]
    if len(found) == 1:
        return found[0]
    what = "More than one plan" if found else "No plan"
    raise Refused(f"{what} with the digest {digest} waits in {run}. {listed(plans)}")


def listed(plans: Sequence[WaitingPlan]) -> str:
    """What waits, in a sentence."""
    if not plans:
        return "Nothing waits for an approval there."
    waits = "; ".join(f"{part_shown(one.component)}: {one.digest}" for one in plans)
    return f"What waits: {waits}"
