"""Arguments and options that several commands have."""

import re
from typing import Annotated

import typer

from contracts.names import DIGEST_PATTERN, NAME_PATTERN


def check_name(value: str | None) -> str | None:
    """The callback of an argument that is the name of an app or an install."""
    if value is not None and not re.fullmatch(NAME_PATTERN, value):
        raise typer.BadParameter(
            f"{value!r} is no name; use lower case letters, digits and dashes, at most 63"
        )
    return value


def _digest(value: str | None) -> str | None:
    if value is not None and not re.fullmatch(DIGEST_PATTERN, value):
        raise typer.BadParameter(
            f"{value!r} is no digest; write sha256: and 64 hexadecimal digits, as `exclave build` "
            "prints them"
        )
    return value


InstallArgument = Annotated[
    str, typer.Argument(metavar="INSTALL", help="The install's name.", callback=check_name)
]
AppOption = Annotated[
    str, typer.Option("--app", metavar="NAME", help="The app.", callback=check_name)
]
ReleaseArgument = Annotated[
    str,
    typer.Argument(
        metavar="RELEASE",
        help="A release's digest, or the beginning of one that the install has run.",
    ),
]
DigestOption = Annotated[
    str | None,
    typer.Option("--release", metavar="DIGEST", help="A release's digest.", callback=_digest),
]
RunArgument = Annotated[
    str,
    typer.Argument(
        metavar="RUN",
        help="A run, such as deploy/acme/7, or an install: its run that holds the turn.",
    ),
]
ComponentOption = Annotated[
    str | None,
    typer.Option("--component", "-c", metavar="NAME", help="This component (or `sandbox`) alone."),
]
DetachOption = Annotated[
    bool, typer.Option("--detach", help="Start it, print the run's id, and end.")
]
UntilApprovalOption = Annotated[
    bool,
    typer.Option(
        "--until-approval",
        help="End with status 3 once nothing goes on until a plan is decided; ask nobody.",
    ),
]
ByOption = Annotated[
    str, typer.Option("--by", help="Who decides, as the record shows it; by default, you.")
]
