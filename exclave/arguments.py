"""Arguments and options that several commands share."""

import re
from typing import Annotated

import typer

from contracts.names import DIGEST_PATTERN, NAME_PATTERN


def check_name(value: str | None) -> str | None:
    """The callback of an argument that is the name of an app or an install."""
    if value is not None and not re.fullmatch(NAME_PATTERN, value):
        raise typer.BadParameter(
            f"{value!r} is not a name; use at most 63 lower case letters, digits and dashes"
        )
    return value


def _digest(value: str | None) -> str | None:
    if value is not None and not re.fullmatch(DIGEST_PATTERN, value):
        raise typer.BadParameter(
            f"{value!r} is not a digest; write sha256: and 64 hexadecimal digits, as printed by "
            "`exclave build`"
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
        help="A run, such as deploy/acme/7, or an install: the run that is changing it.",
    ),
]
ComponentOption = Annotated[
    str | None,
    typer.Option("--component", "-c", metavar="NAME", help="Only this component (or `sandbox`)."),
]
DetachOption = Annotated[
    bool, typer.Option("--detach", help="Do not follow the run; only print its id.")
]
UntilApprovalOption = Annotated[
    bool,
    typer.Option(
        "--until-approval",
        help="Exit with status 3 as soon as the run only waits for approvals; ask nothing.",
    ),
]
ByOption = Annotated[
    str, typer.Option("--by", help="Who decides, for the record; by default, your user name.")
]
