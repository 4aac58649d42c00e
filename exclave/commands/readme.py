"""`exclave readme`: the app's page for people, with the values of one install."""

from typing import Annotated

import typer

from client.control_plane import Plane
from contracts.names import install_queue
from contracts.readmes import FEATURE_README, READ_README, ReadReadme
from exclave.arguments import check_name
from exclave.exits import run
from exclave.output import Output, OutputOption, print_json
from exclave.screens.terminal import Lines


def readme(
    install: Annotated[
        str, typer.Argument(metavar="INSTALL", help="The install.", callback=check_name)
    ],
    output: OutputOption = Output.TEXT,
) -> None:
    """Print the app's readme with the values of an install, in Markdown.

    It is rendered by the install's worker, without what is sensitive. A value that is not there
    yet leaves its place as it is written, which is told on standard error. Where the worker is
    away, the exit status is 4.

    Example:

        exclave readme acme
    """
    run(_readme(install, output))


async def _readme(install: str, output: Output) -> None:
    plane = await Plane.reach()
    found = await plane.do(
        READ_README,
        ReadReadme(requires=[FEATURE_README], install=install),
        queue=install_queue(install),
        whose=f"The install worker of {install}, which has the values,",
    )
    if output is Output.JSON:
        print_json(found.model_dump(mode="json"))
        return
    Lines().block(found.text)
    told = Lines(err=True)
    for problem in found.problems:
        told(f"stays as it is written: {problem}")
    if found.is_cut:
        told("The readme is longer than what is sent; the rest is left out.")
