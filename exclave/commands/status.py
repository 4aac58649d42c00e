"""`exclave status`: shows what runs where, what waits for whom, and what failed."""

from dataclasses import asdict
from typing import Annotated

import typer

from client.control_plane import ControlPlane
from client.overview import install_details, overview
from exclave.arguments import check_name
from exclave.exits import run
from exclave.output import Output, OutputOption, print_json
from exclave.screens.status import show_details, show_overview
from exclave.screens.terminal import Lines


def status(
    install: Annotated[
        str | None,
        typer.Argument(
            metavar="[INSTALL]",
            help="One install, in detail; without it, all.",
            callback=check_name,
        ),
    ] = None,
    app: Annotated[
        str | None,
        typer.Option("--app", metavar="NAME", help="Installs of this app.", callback=check_name),
    ] = None,
    everything: Annotated[
        bool, typer.Option("--all", help="Show all installs, not only the newest 50.")
    ] = False,
    output: OutputOption = Output.TEXT,
) -> None:
    """Show what runs where, what waits for whom, and what failed and why.

    Example:

        exclave status

        exclave status acme

        exclave status --app shop --output json
    """
    run(_one(install, output) if install else _all(app, everything, output))


async def _all(app: str | None, everything: bool, output: Output) -> None:
    found = await overview(await ControlPlane.reach(), app, everything=everything)
    if output is Output.JSON:
        print_json(
            {
                "installs": [asdict(row) for row in found.rows],
                "total": found.total,
                "builds": [asdict(one) for one in found.builds],
            }
        )
    else:
        show_overview(Lines(), found)


async def _one(install: str, output: Output) -> None:
    found = await install_details(await ControlPlane.reach(), install)
    if output is Output.TEXT:
        show_details(Lines(), found)
        return
    plans = {
        run: [one.model_dump(mode="json") for one in waiting]
        for run, waiting in found.plans.items()
    }
    print_json(
        {
            **found.status.model_dump(mode="json"),
            "worker_now": found.worker,
            "worker_polled": found.polled,
            "runs": [asdict(one) for one in found.runs],
            "plans": plans,
            "next": found.schedules,
        }
    )
