"""How a command ends: its exit status, and its message on standard error."""

import asyncio
from collections.abc import Coroutine, Iterator
from contextlib import contextmanager
from enum import IntEnum
from typing import Any

import typer

from apps.display_text import shown_output
from client.errors import Away, CallFailed
from exclave.screens.terminal import Lines
from wire.faults import Unreadable


class Exit(IntEnum):
    """The exit statuses of every command."""

    DONE = 0
    FAILED = 1
    USAGE = 2
    WAITS = 3
    UNREACHABLE = 4
    INTERRUPTED = 130


MEANINGS = {
    Exit.DONE: "done",
    Exit.FAILED: "refused or failed",
    Exit.USAGE: "wrong usage",
    Exit.WAITS: "the run waits for an approval (with --until-approval)",
    Exit.UNREACHABLE: "Temporal, the registry or a worker does not answer",
    Exit.INTERRUPTED: "interrupted by Ctrl-C; what was started goes on",
}


class CommandEnded(Exception):
    """The command ends here, with this status and this message on standard error."""

    def __init__(self, status: Exit, message: str = "") -> None:
        super().__init__(message)
        self.status = status
        self.message = message


@contextmanager
def ending() -> Iterator[None]:
    """Turn the errors of the block into a message and an exit status.

    Raises:
        typer.Exit: with that status, if it is not 0.
    """
    try:
        yield
    except CommandEnded as end:
        if end.message:
            _write_error(end.message)
        raise typer.Exit(end.status) from None
    except CallFailed as error:
        _write_error(error.message)
        status = Exit.UNREACHABLE if isinstance(error, Away) else Exit.FAILED
        raise typer.Exit(status) from None
    except Unreadable as error:
        _write_error(str(error))
        raise typer.Exit(Exit.FAILED) from None
    except KeyboardInterrupt:
        raise typer.Exit(Exit.INTERRUPTED) from None


def _write_error(message: str) -> None:
    """A message may contain what a tool printed."""
    Lines(err=True).block(shown_output(message))


def run(command: Coroutine[Any, Any, None]) -> None:
    """Run a command to its end; raises as `ending`."""
    with ending():
        asyncio.run(command)
