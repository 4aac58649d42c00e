"""Plans that wait for a person: found, read, and decided by their digest."""

import getpass
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Final

from apps.parts import part_shown
from client.control_plane import ControlPlane
from client.errors import Refused
from client.refusals import NotOffered
from contracts.deploys import (
    FEATURE_DEPLOY,
    VIEW,
    Approval,
    PlanView,
    ViewInput,
    ViewRequest,
    Waiting,
    WaitingPlan,
)
from contracts.names import install_queue, owner_of

MOST_PAGES: Final = 1_000
"""Pages of a view that are read, 250 MiB. A hostile worker may claim to have more."""


async def waiting_plans(plane: ControlPlane, run: str) -> list[WaitingPlan]:
    """The plans of a run that wait for an approval.

    Raises:
        NoSuchRun: the run has ended, or there is no such run.
        Away: no control worker answers, or Temporal does not.
    """
    return (await plane.ask(run, "waiting", Waiting, ended=False)).plans


async def view_of(plane: ControlPlane, run: str, plan: WaitingPlan) -> str:
    """All pages of a plan's view, from the worker of the install that the run belongs to.

    Raises:
        Away: the install's worker, which keeps the plan, does not answer.
        Refused: the plan does not wait any more, or the worker shows something else.
    """
    pages = [await _page(plane, run, plan, 1)]
    count = pages[0].pages
    if count > MOST_PAGES:
        raise Refused(
            f"The view of plan {plan.digest} has {count} pages; at most {MOST_PAGES} are shown. "
            "Read it on the worker's machine, with `exclave worker plans`."
        )
    for number in range(2, count + 1):
        pages.append(await _page(plane, run, plan, number))
    return "".join(one.text for one in pages)


async def _page(plane: ControlPlane, run: str, plan: WaitingPlan, number: int) -> PlanView:
    """One page, checked to be that page of that plan."""
    page = await _read_page(plane, run, plan, number)
    if (page.component, page.digest, page.page) != (plan.component, plan.digest, number):
        raise Refused(
            f"Asked for page {number} of the plan {plan.digest} of {part_shown(plan.component)}, "
            f"the worker showed page {page.page} of {page.digest} of {part_shown(page.component)}. "
            "Do not approve the plan; examine the worker."
        )
    return page


async def _read_page(plane: ControlPlane, run: str, plan: WaitingPlan, number: int) -> PlanView:
    owner = owner_of(run)
    if owner is not None and plan.plan_key:
        _, install = owner
        asked = ViewInput(
            requires=[FEATURE_DEPLOY],
            install=install,
            component=plan.component,
            plan_key=plan.plan_key,
            page=number,
        )
        whose = f"The install worker of {install}, which keeps the plan,"
        with suppress(NotOffered):
            return await plane.do(VIEW, asked, queue=install_queue(install), whose=whose)
    # The control worker is older, or the server does not support standalone activities.
    request = ViewRequest(digest=plan.digest, page=number)
    return await plane.send_update(run, "view", request, PlanView)


def user_name() -> str:
    """The name of the user who runs the command; empty if the machine does not know it."""
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return ""


@dataclass(frozen=True)
class Verdict:
    """What a person decides about a plan."""

    approved: bool
    by: str = ""
    reason: str = ""


async def decide(plane: ControlPlane, run: str, digest: str, verdict: Verdict) -> WaitingPlan:
    """Approve or deny exactly this plan.

    Raises:
        Refused: this plan does not wait; the message names those that do.
    """
    update = "approve" if verdict.approved else "deny"
    approval = Approval(digest=digest, by=verdict.by, reason=verdict.reason)
    return await plane.send_update(run, update, approval, WaitingPlan)


def of_component(plans: Sequence[WaitingPlan], name: str, run: str) -> WaitingPlan:
    """The plan of a component; the sandbox may be given by its displayed name.

    Raises:
        Refused: no plan of that component waits.
    """
    exact = [one for one in plans if one.component == name]
    found = exact or [one for one in plans if part_shown(one.component) == name]
    if not found:
        raise Refused(f"No plan of {name} waits for an approval in {run}. {listed(plans)}")
    return found[0]


def by_digest(plans: Sequence[WaitingPlan], digest: str, run: str) -> WaitingPlan:
    """The plan with this digest, or the only one whose digest begins with it.

    Raises:
        Refused: no waiting plan matches, or several do.
    """
    begin = digest if digest.startswith("sha256:") else f"sha256:{digest}"
    found = [one for one in plans if one.digest.startswith(begin)]
    if len(found) == 1:
        return found[0]
    what = "More than one plan" if found else "No plan"
    raise Refused(f"{what} with the digest {digest} waits in {run}. {listed(plans)}")


def listed(plans: Sequence[WaitingPlan]) -> str:
    """A sentence that lists the waiting plans."""
    if not plans:
        return "Nothing waits for an approval there."
    waits = "; ".join(f"{part_shown(one.component)}: {one.digest}" for one in plans)
    return f"What waits: {waits}"
