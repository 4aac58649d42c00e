"""`exclave access`: which workers may pass the gateway."""

from pathlib import Path
from typing import Annotated, Any

import typer

from client.access import subjects
from client.control_plane import ControlPlane
from client.enrolment_tokens import fresh_token, write_build_worker, write_token
from client.errors import Refused
from client.plans import user_name
from contracts.access import (
    AccessChanged,
    AccessInput,
    CloudIdentity,
    Pause,
    PinCloud,
    Revoke,
    SubjectAccess,
)
from contracts.names import access_workflow_id
from exclave.arguments import ByOption, check_name
from exclave.exits import run
from exclave.output import Output, OutputOption, print_json
from exclave.screens.terminal import Lines
from stacks.systemd import ENROLMENT
from wire.encryption.subjects import BUILD

access = typer.Typer(
    help="Which workers may pass the gateway: enrolled keys, revocation, pause.\n\n"
    "Example:\n\n    exclave access list\n\n    exclave access revoke acme",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode="markdown",
)

WorkerArgument = Annotated[
    str | None,
    typer.Argument(metavar="[INSTALL]", help="The install's name.", callback=check_name),
]
BuildOption = Annotated[bool, typer.Option("--build", help="The org's build workers.")]
KeyOption = Annotated[
    str | None,
    typer.Option("--key", metavar="THUMBPRINT", help="Only this key, as `list` shows it."),
]
HoursOption = Annotated[
    float, typer.Option("--hours", min=0.02, max=720, help="How long the token is valid.")
]
ReasonOption = Annotated[str, typer.Option("--reason", help="Why; `list` shows it.")]


@access.command("list")
def list_access(
    install: WorkerArgument = None,
    build: BuildOption = False,
    output: OutputOption = Output.TEXT,
) -> None:
    """Show which workers are enrolled, paused or revoked.

    Example:

        exclave access list

        exclave access list acme --output json
    """
    run(_list(_subject(install, build) if install or build else None, output))


@access.command()
def revoke(
    install: WorkerArgument = None,
    key: KeyOption = None,
    reason: ReasonOption = "",
    by: ByOption = "",
    build: BuildOption = False,
    output: OutputOption = Output.TEXT,
) -> None:
    """Lock a worker out at once, even while it waits for work; with --key, only that key.

    Example:

        exclave access revoke acme --reason "the machine was stolen"

        exclave access revoke acme --key 0f3c2a8be1d94c57a6b0e2f41d8c9a35
    """
    request = Revoke(subject=_subject(install, build), key=key, by=by or user_name(), reason=reason)
    run(_change("revoke", request, "is revoked: its worker gets nothing any more", output))


@access.command()
def restore(
    install: WorkerArgument = None,
    key: KeyOption = None,
    reason: ReasonOption = "",
    by: ByOption = "",
    build: BuildOption = False,
    output: OutputOption = Output.TEXT,
) -> None:
    """Let a revoked worker pass again; with --key, only that key.

    Example:

        exclave access restore acme
    """
    request = Revoke(subject=_subject(install, build), key=key, by=by or user_name(), reason=reason)
    run(_change("restore", request, "may pass again", output))


@access.command()
def pause(
    install: WorkerArgument = None,
    reason: ReasonOption = "",
    by: ByOption = "",
    build: BuildOption = False,
    output: OutputOption = Output.TEXT,
) -> None:
    """Give a worker no new work; it finishes what it has begun.

    The customer can do the same on the worker's machine: exclave worker pause.

    Example:

        exclave access pause acme --reason "their audit"
    """
    request = Pause(subject=_subject(install, build), by=by or user_name(), reason=reason)
    run(_change("pause", request, "is paused: its worker gets no new work", output))


@access.command()
def resume(
    install: WorkerArgument = None,
    reason: ReasonOption = "",
    by: ByOption = "",
    build: BuildOption = False,
    output: OutputOption = Output.TEXT,
) -> None:
    """Give a paused worker its work again.

    Example:

        exclave access resume acme
    """
    request = Pause(subject=_subject(install, build), by=by or user_name(), reason=reason)
    run(_change("resume", request, "gets its work again", output))


@access.command()
def pin(
    install: WorkerArgument = None,
    aws_account: Annotated[
        str | None, typer.Option("--aws-account", metavar="ID", help="The machine's AWS account.")
    ] = None,
    aws_role: Annotated[
        str | None, typer.Option("--aws-role", metavar="NAME", help="The machine's AWS role.")
    ] = None,
    azure: Annotated[bool, typer.Option("--azure", help="The machine runs on Azure.")] = False,
    gcp: Annotated[bool, typer.Option("--gcp", help="It runs on Google Cloud.")] = False,
    issuer: Annotated[
        str | None, typer.Option("--issuer", metavar="URL", help="Who signs the cloud's tokens.")
    ] = None,
    token_subject: Annotated[
        str | None, typer.Option("--subject", metavar="ID", help="The tokens' subject.")
    ] = None,
    audience: Annotated[
        str | None,
        typer.Option("--audience", help="The tokens' audience, if the machine cannot choose it."),
    ] = None,
    clear: Annotated[bool, typer.Option("--clear", help="Remove the pinned identity.")] = False,
    output: OutputOption = Output.TEXT,
) -> None:
    """Pin the cloud identity of the machine that may enrol for an install without a token.

    Example:

        exclave access pin acme --aws-account 123456789012 --aws-role exclave-worker

        exclave access pin acme --gcp --issuer https://accounts.google.com --subject 1084…

        exclave access pin acme --clear
    """
    request = PinCloud(
        subject=_subject(install, False),
        cloud=None
        if clear
        else _cloud(aws_account, aws_role, azure, gcp, issuer, token_subject, audience),
    )
    words = "may not enrol by a cloud identity" if clear else "may enrol by its cloud identity"
    run(_change("pin", request, words, output))


@access.command()
def token(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="Where to write the token.")],
    install: Annotated[
        str | None,
        typer.Option("--install", metavar="NAME", help="For this install.", callback=check_name),
    ] = None,
    build: BuildOption = False,
    hours: HoursOption = 24.0,
    output: OutputOption = Output.TEXT,
) -> None:
    """Write a fresh one-time token, as `exclave install --stack` does.

    Example:

        exclave access token enrolment-token --install acme

        exclave access token enrolment-token --build --hours 1
    """
    run(_token(_subject(install, build), file, hours, output))


@access.command("build-worker")
def build_worker(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="Where to write the two files.")],
    hours: HoursOption = 24.0,
    output: OutputOption = Output.TEXT,
) -> None:
    """Write the enrolment file and the one-time token that a build worker is started with.

    Example:

        exclave access build-worker /etc/exclave

        exclave-build-worker /etc/exclave/enrolment.toml --data /var/lib/exclave
    """
    run(_build_worker(folder, hours, output))


def _subject(install: str | None, build: bool) -> str:
    if build == (install is not None):
        raise typer.BadParameter("name one worker: an install, or --build")
    return "build" if build else f"install/{install}"


def _cloud(
    account: str | None,
    role: str | None,
    azure: bool,
    gcp: bool,
    issuer: str | None,
    subject: str | None,
    audience: str | None,
) -> CloudIdentity:
    by_issuer = [name for name, given in (("azure", azure), ("gcp", gcp)) if given]
    if account and role and not (by_issuer or issuer or subject or audience):
        values: dict[str, Any] = {"kind": "aws", "account": account, "role": role}
    elif len(by_issuer) == 1 and issuer and subject and not (account or role):
        values = {"kind": by_issuer[0], "issuer": issuer, "subject": subject, "audience": audience}
    else:
        raise typer.BadParameter(
            "give --aws-account and --aws-role, or --azure or --gcp with --issuer and --subject"
        )
    try:
        return CloudIdentity.model_validate(values)
    except ValueError as error:
        raise typer.BadParameter(str(error)) from error


async def _reach() -> tuple[ControlPlane, str]:
    """The control plane, and the id of its Access workflow, which is started if necessary."""
    plane = await ControlPlane.reach()
    org = plane.client.namespace
    await plane.start(
        "Access",
        access_workflow_id(org),
        AccessInput(org=org),
        joins=True,
        summary="which workers may pass the gateway",
    )
    return plane, access_workflow_id(org)


async def _change(
    update: str, request: Revoke | Pause | PinCloud, words: str, output: Output
) -> None:
    plane, workflow_id = await _reach()
    changed = await plane.send_update(workflow_id, update, request, AccessChanged)
    if output is Output.JSON:
        print_json(changed.model_dump(mode="json"))
        return
    key = getattr(request, "key", None)
    lines = Lines(err=True)
    lines(f"{changed.subject}{f' (key {key})' if key else ''} {words}.")
    if not changed.access.keys and not isinstance(request, PinCloud):
        lines(f"No worker has enrolled as {changed.subject}; exclave access list shows who has.")


async def _list(subject: str | None, output: Output) -> None:
    plane, _ = await _reach()
    found = await subjects(plane)
    if subject is not None:
        found = {name: one for name, one in found.items() if name == subject}
    if output is Output.JSON:
        print_json({name: one.model_dump(mode="json") for name, one in found.items()})
        return
    lines = Lines()
    if not found:
        Lines(err=True)("Nobody is enrolled." if subject is None else f"{subject} is not enrolled.")
    for name, one in found.items():
        lines(f"{name}  {_state(one)}")
        for key in one.keys:
            revoked = f", revoked {key.revoked}" if key.revoked else ""
            lines(f"    key {key.thumbprint}, by {key.how} at {key.at}{revoked}")


def _state(one: SubjectAccess) -> str:
    reason = f" ({one.told})" if one.told and (one.revoked or one.paused) else ""
    if one.revoked:
        return f"revoked since {one.revoked}{reason}"
    if one.paused:
        return f"paused since {one.paused}{reason}"
    if not any(not key.revoked for key in one.keys):
        return "not enrolled" if not one.keys else "every key is revoked"
    return "may pass"


async def _token(subject: str, file: Path, hours: float, output: Output) -> None:
    plane = await ControlPlane.reach()
    token, minted = await fresh_token(plane, subject, hours)
    write_token(file, token)
    if output is Output.JSON:
        print_json({"subject": subject, "file": str(file), "expires": minted.expires})
        return
    Lines(err=True)(
        f"A one-time token for {subject} is in {file}; it expires at {minted.expires}. Put it "
        "beside the worker's enrolment file."
    )


async def _build_worker(folder: Path, hours: float, output: Output) -> None:
    plane = await ControlPlane.reach()
    token, minted = await fresh_token(plane, BUILD, hours)
    if not minted.enrolment:
        raise Refused(
            "This control plane has no gateway at which build workers can enrol; start its control "
            "workers with --worker-gateway."
        )
    write_build_worker(folder, minted.enrolment, token)
    if output is Output.JSON:
        print_json({"folder": str(folder), "expires": minted.expires})
        return
    Lines(err=True)(
        f"The enrolment file and a one-time token are in {folder}; the token expires at "
        f"{minted.expires}. Start the build worker: exclave-build-worker {folder / ENROLMENT}"
    )
