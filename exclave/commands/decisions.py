"""`exclave plan`, `approve` and `deny`: shows plans that wait, and sends a person's decision."""

from typing import Annotated

import typer

from apps.parts import part_shown
from client.control_plane import ControlPlane
from client.errors import Refused
from client.plans import Verdict, by_digest, decide, of_component, user_name, view_of, waiting_plans
from client.runs import run_that_changes
from contracts.deploys import WaitingPlan
from exclave.arguments import ByOption, ComponentOption, RunArgument
from exclave.exits import run
from exclave.output import Output, OutputOption, print_json
from exclave.screens.plans import how_to_decide, show_plan
from exclave.screens.terminal import Lines

DigestArgument = Annotated[
    str | None,
    typer.Argument(metavar="[DIGEST]", help="The plan's digest, or the beginning of it."),
]


def plan(
    name: RunArgument,
    component: ComponentOption = None,
    output: OutputOption = Output.TEXT,
) -> None:
    """Show the plans that wait for an approval, each as a diff.

    They are read from the install's worker, a page at a time; they contain nothing sensitive.

    Example:

        exclave plan acme

        exclave plan deploy/acme/7 --component database
    """
    run(_plan(name, component, output))


def approve(
    name: RunArgument,
    digest: DigestArgument = None,
    component: ComponentOption = None,
    by: ByOption = "",
    output: OutputOption = Output.TEXT,
) -> None:
    """Approve a plan that waits, by its digest: exactly this plan is applied, and no other.

    With --component, the component's currently waiting plan is approved: look at it first.

    Example:

        exclave approve deploy/acme/7 sha256:…

        exclave approve acme --component database
    """
    run(_decide(name, digest, component, Verdict(True, by or user_name()), output))


def deny(
    name: RunArgument,
    digest: DigestArgument = None,
    component: ComponentOption = None,
    reason: Annotated[str, typer.Option("--reason", help="Why; shown in the run.")] = "",
    by: ByOption = "",
    output: OutputOption = Output.TEXT,
) -> None:
    """Deny a plan that waits: its component fails; components that do not depend on it go on.

    Example:

        exclave deny deploy/acme/7 sha256:… --reason "not before Monday"

        exclave deny acme --component database
    """
    run(_decide(name, digest, component, Verdict(False, by or user_name(), reason), output))


async def _plan(name: str, component: str | None, output: Output) -> None:
    plane = await ControlPlane.reach()
    workflow_id = await run_that_changes(plane, name)
    views = await _views(plane, workflow_id, component) if workflow_id else []
    if output is Output.JSON:
        shown = [{**one.model_dump(mode="json"), "text": text} for one, text in views]
        print_json({"run": workflow_id, "plans": shown})
        return
    lines, hints = Lines(), Lines(err=True)
    if not views:
        hints(f"Nothing waits for an approval in {workflow_id or name}.")
    for one, text in views:
        show_plan(lines, one, text)
        for command in how_to_decide(workflow_id or name, one):
            hints(f"    {command}")


async def _views(
    plane: ControlPlane, workflow_id: str, component: str | None
) -> list[tuple[WaitingPlan, str]]:
    plans = await waiting_plans(plane, workflow_id)
    if component is not None:
        plans = [of_component(plans, component, workflow_id)]
    return [(one, await view_of(plane, workflow_id, one)) for one in plans]


async def _decide(
    name: str, digest: str | None, component: str | None, verdict: Verdict, output: Output
) -> None:
    if (digest is None) == (component is None):
        raise typer.BadParameter("name one plan: by its digest, or by --component")
    plane = await ControlPlane.reach()
    workflow_id = await run_that_changes(plane, name)
    if workflow_id is None:
        raise Refused(f"Nothing waits for an approval: no run is changing {name}.")
    found = _chosen(await waiting_plans(plane, workflow_id), digest, component, workflow_id)
    await decide(plane, workflow_id, found.digest, verdict)
    if output is Output.JSON:
        how = "approved" if verdict.approved else "denied"
        print_json({"run": workflow_id, "decision": how, **found.model_dump(mode="json")})
        return
    how = "Approved" if verdict.approved else "Denied"
    Lines(err=True)(
        f"{how}: {part_shown(found.component)} in {workflow_id} ({found.changes}), {found.digest}"
    )


def _chosen(
    plans: list[WaitingPlan], digest: str | None, component: str | None, workflow_id: str
) -> WaitingPlan:
    if component is not None:
        return of_component(plans, component, workflow_id)
    if digest is None:
        raise Refused("Name one plan.")
    return by_digest(plans, digest, workflow_id)
