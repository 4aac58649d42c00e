"""`exclave keys`: the keys that payloads are encrypted with."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer

from client.errors import Refused
from exclave.exits import ending
from exclave.screens.terminal import write
from wire.connection import TemporalAddress
from wire.encryption.key_files import KeyFileError
from wire.encryption.keys import MasterKeys
from wire.encryption.subjects import ACCESS

keys = typer.Typer(
    help="The keys that payloads are encrypted with. Without them nobody can read a history: keep "
    "a copy where you keep secrets.\n\n"
    "Example:\n\n    exclave keys new keys.json",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode="markdown",
)

File = Annotated[Path, typer.Argument(help="The file of the master keys.")]


@keys.command("new")
def new(file: File) -> None:
    """Make a file with one new master key, readable only by its owner.

    Example:

        exclave keys new keys.json

        export EXCLAVE_KEYS=keys.json
    """
    with ending(), _refusing():
        made = MasterKeys.new()
        made.write(file)
        write(made.current)


@keys.command("add")
def add(file: File) -> None:
    """Add a new key, which is not used yet.

    Copy the file to all processes of the control side, and the gateways' part to the gateways
    (exclave keys gateway); then run: exclave keys use FILE KEY. Install workers get the new key
    when they first need it.

    Example:

        exclave keys add keys.json
    """
    with ending(), _refusing():
        before = MasterKeys.read(file)
        after = before.with_new_key()
        after.write(file, replaces=True)
        write(next(key_id for key_id in after.keys if key_id not in before.keys))


@keys.command("use")
def use(file: File, key: Annotated[str, typer.Argument(help="The key's id.")]) -> None:
    """Encrypt with another key from now on; payloads under older keys stay readable.

    Example:

        exclave keys use keys.json 2026-01-31-1a2b3c
    """
    with ending(), _refusing():
        MasterKeys.read(file).using(key).write(file, replaces=True)


@keys.command("gateway")
def gateway(
    file: File,
    out: Annotated[Path, typer.Argument(help="The file that gateway.toml names: `payload_keys`.")],
) -> None:
    """Write the keys with which gateways read who may pass; they open no install's payloads.

    The namespace comes from TEMPORAL_NAMESPACE or temporal.toml.

    Example:

        exclave keys gateway keys.json access-keys.json
    """
    with ending(), _refusing():
        namespace = TemporalAddress.from_environment().namespace
        MasterKeys.read(file).for_subject(namespace, ACCESS).write(out, replaces=True)


@contextmanager
def _refusing() -> Iterator[None]:
    try:
        yield
    except KeyFileError as error:
        raise Refused(str(error)) from error
