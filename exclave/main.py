"""The `exclave` command. Exit status: 0 done, 1 refused or failed, 2 wrong usage."""

import typer

from exclave.dev.command import dev
from exclave.enrolment import enrolment
from exclave.upload import upload
from exclave.worker import worker

app = typer.Typer(
    name="exclave",
    help="Run a vendor's app in its customers' own cloud accounts.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_show_locals=False,
)
app.command()(dev)
app.command()(upload)
app.command()(enrolment)
app.add_typer(worker, name="worker")


def main() -> None:
    """Run the command."""
    app()
