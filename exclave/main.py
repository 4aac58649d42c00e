"""The list of all `exclave` commands. A command's module is imported only when it is called.

So `exclave --help` answers at once, and no command imports what only another one needs.
"""

import importlib
import os
import sys
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, NoReturn

import typer
from typer.core import TyperCommand, TyperGroup

from exclave.exits import MEANINGS, Exit

_RELEASES = "Releases"
_INSTALLS = "Installs"
_LOOKING = "Looking"
_MACHINES = "Machines"


@dataclass(frozen=True)
class _Listed:
    """A command's entry in the list of all, and where it is implemented."""

    name: str
    where: str
    """`module:function`, or `module:group`."""
    help: str
    panel: str


COMMANDS = (
    _Listed("build", "commands.build:build", "Make a release of an app config.", _RELEASES),
    _Listed("check", "commands.check:check_config", "Check an app config.", _RELEASES),
    _Listed("schema", "commands.schema:print_schema", "Schemas for editors.", _RELEASES),
    _Listed("graph", "commands.graph:graph", "Draw which component needs which.", _RELEASES),
    _Listed("upload", "commands.upload:upload", "Upload an app config for a build.", _RELEASES),
    _Listed("install", "commands.install:install", "Create an install, and its stack.", _INSTALLS),
    _Listed("set-inputs", "commands.inputs:set_inputs", "Set inputs of an install.", _INSTALLS),
    _Listed("provision", "commands.changes:provision", "Apply a release's sandbox.", _INSTALLS),
    _Listed("deploy", "commands.changes:deploy", "Deploy a release.", _INSTALLS),
    _Listed("plan", "commands.decisions:plan", "Show the plans that wait.", _INSTALLS),
    _Listed("approve", "commands.decisions:approve", "Approve a plan that waits.", _INSTALLS),
    _Listed("deny", "commands.decisions:deny", "Deny a plan that waits.", _INSTALLS),
    _Listed("cancel", "commands.cancel:cancel", "Cancel a run.", _INSTALLS),
    _Listed("action", "commands.actions:action", "Run an action.", _INSTALLS),
    _Listed("rollback", "commands.changes:rollback", "Go back to an older release.", _INSTALLS),
    _Listed("deprovision", "commands.changes:deprovision", "Tear everything down.", _INSTALLS),
    _Listed("access", "commands.access:access", "Who may pass the gateway.", _INSTALLS),
    _Listed("status", "commands.status:status", "What runs where, and what waits.", _LOOKING),
    _Listed("readme", "commands.readme:readme", "Print an install's readme.", _LOOKING),
    _Listed("follow", "commands.follow:follow", "Follow a run to its end.", _LOOKING),
    _Listed("logs", "commands.logs:logs", "Print what a run's tools printed.", _LOOKING),
    _Listed("demo", "demo.command:demo", "See an install's whole life, for real.", _MACHINES),
    _Listed("dev", "dev.command:dev", "Run the development control plane.", _MACHINES),
    _Listed("keys", "commands.keys:keys", "The keys that encrypt payloads.", _MACHINES),
    _Listed("worker", "worker:worker", "What only the customer may do.", _MACHINES),
    _Listed("version", "commands.version:print_version", "Print Exclave's version.", _MACHINES),
)


class Commands(TyperGroup):
    """The group of all commands; a stand-in represents each command until it is called."""

    def __init__(self, **attributes: Any) -> None:
        super().__init__(**attributes)
        for listed in COMMANDS:
            stand_in = TyperCommand(listed.name, help=listed.help, rich_help_panel=listed.panel)
            self.add_command(stand_in)

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """The command that was typed, instead of its stand-in."""
        name, _, rest = super().resolve_command(ctx, args)
        return name, _load(next(one for one in COMMANDS if one.name == name)), rest


def _load(listed: _Listed) -> Any:
    module, _, name = listed.where.partition(":")
    found = getattr(importlib.import_module(f"exclave.{module}"), name)
    if isinstance(found, typer.Typer):
        return typer.main.get_command(found)
    alone = typer.Typer(
        add_completion=False, pretty_exceptions_show_locals=False, rich_markup_mode="markdown"
    )
    alone.command(listed.name)(found)
    return typer.main.get_command(alone)


_STATUSES = "  \n".join(f"{int(status)}: {meaning}" for status, meaning in MEANINGS.items())

app = typer.Typer(
    name="exclave",
    cls=Commands,
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_show_locals=False,
    rich_markup_mode="markdown",
)


@app.callback(
    help="Run a vendor's app in its customers' own cloud accounts.\n\n"
    "Whatever a command starts is a Temporal workflow, and could also be started with the "
    "`temporal` CLI. The server is the one named by `TEMPORAL_ADDRESS` and `TEMPORAL_NAMESPACE`, "
    "or by `temporal.toml`; otherwise that of `exclave dev`.\n\n"
    f"Exit statuses:\n\n{_STATUSES}"
)
def _group() -> None:
    """Make the app a group of commands."""


def main() -> NoReturn:
    """Run the command, and exit with its status."""
    status: object = Exit.DONE
    try:
        app()
    except SystemExit as end:
        status = end.code
    # It is no failure if the reader of a pipe has gone.
    with suppress(OSError):
        sys.stdout.flush()
        sys.stderr.flush()
    # On 3.11, interpreter shutdown crashed in the SDK's native threads, so skip it.
    os._exit(status if isinstance(status, int) else Exit.FAILED)
