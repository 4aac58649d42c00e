"""`exclave readme`: prints the app's readme with the values of one install."""

from typing import Annotated

import typer

from client.control_plane import ControlPlane
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

    The install's worker renders it, with sensitive values masked. Where a value does not exist yet,
    the template stays in the text, and a message on standard error says so. If the worker is away,
    the exit status is 4.

    Example:

        exclave readme acme
    """
    run(_readme(install, output))


async def _readme(install: str, output: Output) -> None:
    plane = await ControlPlane.reach()
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
    remarks = Lines(err=True)
    for problem in found.problems:
        remarks(f"left unrendered: {problem}")
    if found.is_cut:
        remarks("The readme is too long to be sent as a whole; its end is missing.")
