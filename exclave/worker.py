"""`exclave worker`: commands for the customer, on the install worker's machine."""

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import typer

from exclave.commands.entered_secrets import NotASecretText, entered_secret
from exclave.commands.worker_doctor import doctor
from exclave.commands.worker_journal import journal
from exclave.commands.worker_plans import approve, deny, plans
from exclave.screens.terminal import write
from stacks.enrolment import Enrolment, EnrolmentError
from store import pausing
from store.errors import StoreError
from store.install_state import InstallState
from store.opening import open_store

worker = typer.Typer(
    help="On the install worker's machine: what only the customer may do.",
    no_args_is_help=True,
    add_completion=False,
)


worker.command("plans")(plans)
worker.command("approve")(approve)
worker.command("deny")(deny)
worker.command("journal")(journal)
worker.command("doctor")(doctor)


@worker.command("set-input")
def set_input(
    name: Annotated[str, typer.Argument(help="The sensitive input's name.")],
    enrolment: Annotated[Path, typer.Option(help="The worker's enrolment file.")],
    data: Annotated[
        Path, typer.Option(exists=True, file_okay=False, help="The worker's data folder.")
    ],
) -> None:
    """Set a sensitive input; the value is read from standard input, and stays in the store.

    It is UTF-8 text. One newline at its end is not part of it, and CR LF becomes LF. The next
    deploy uses the input. What has fewer than four characters, true, false and small numbers cannot
    be masked in logs.

    Example:

        exclave worker set-input license --enrolment acme.toml --data . < license.txt
    """
    if sys.stdin.isatty():
        write(f"Type the value of {name}, then Ctrl-D:", err=True)
    try:
        entered = entered_secret(sys.stdin.buffer.read())
    except NotASecretText as error:
        write(f"{name} was not set: {error}.", err=True)
        raise typer.Exit(1) from error
    try:
        enrolled = Enrolment.read(enrolment)
        store = open_store(enrolled.store_description(data.resolve()))
        state = InstallState(store, enrolled.install, enrolled.namespace)
        state.set_sensitive_input(name, entered.value)
    except (EnrolmentError, StoreError) as error:
        write(str(error), err=True)
        raise typer.Exit(1) from error
    write(
        f"{name} of {enrolled.install} is set; the next deploy uses it, if its app has an "
        "input of that name.",
        err=True,
    )
    for note in entered.notes:
        write(note, err=True)


DataOption = Annotated[
    Path, typer.Option(exists=True, file_okay=False, help="The worker's data folder.")
]


@worker.command()
def pause(data: DataOption) -> None:
    """Let the worker on this machine take no more work; it finishes what it has begun.

    Nobody else can resume it, since the pause is a file in the worker's data folder.

    Example:

        exclave worker pause --data /var/lib/exclave
    """
    began = _at(data, pausing.pause)
    write(
        "The worker takes no more work; it finishes what it has begun."
        if began
        else "The worker is already paused.",
        err=True,
    )


@worker.command()
def resume(data: DataOption) -> None:
    """Let the worker on this machine take work again.

    Example:

        exclave worker resume --data /var/lib/exclave
    """
    ended = _at(data, pausing.resume)
    write("The worker takes work again." if ended else "The worker is not paused.", err=True)


def _at(data: Path, change: Callable[[Path], bool]) -> bool:
    try:
        return change(data)
    except OSError as error:
        write(f"{error.filename}: {error.strerror}", err=True)
        raise typer.Exit(1) from error
