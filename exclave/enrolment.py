"""`exclave enrolment`: prints the file that tells an install worker where its control plane is."""

from typing import Annotated

import typer

from stacks.enrolment import Enrolment, EnrolmentError


def enrolment(
    install: Annotated[str, typer.Argument(help="The install that the worker serves.")],
    temporal: Annotated[
        str,
        typer.Option(help="HOST:PORT of Temporal.", envvar="TEMPORAL_ADDRESS"),
    ] = "127.0.0.1:7233",
    releases: Annotated[
        str, typer.Option(help="URL of the registry that the worker pulls from.")
    ] = "http://127.0.0.1:5081",
    namespace: Annotated[
        str, typer.Option(help="The org's namespace.", envvar="TEMPORAL_NAMESPACE")
    ] = "dev",
) -> None:
    """Print an install worker's enrolment file. The defaults are those of `exclave dev`.

    Example:

        exclave enrolment acme > acme.toml
    """
    try:
        made = Enrolment.of(
            install=install, namespace=namespace, temporal=temporal, releases=releases
        )
    except EnrolmentError as error:
        typer.echo(str(error), err=True)
        raise typer.Exit(1) from error
    typer.echo(made.render(), nl=False)
