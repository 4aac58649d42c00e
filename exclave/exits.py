"""How a command ends: its exit status, and what it says on standard error."""

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
    Exit.FAILED: "refused, or it failed",
    Exit.USAGE: "wrong usage",
    Exit.WAITS: "it waits for an approval (with --until-approval)",
    Exit.UNREACHABLE: "what is needed does not answer: Temporal, the registry, or a worker",
    Exit.INTERRUPTED: "interrupted by Ctrl-C; what was started goes on",
}


class CommandEnded(Exception):
    """The command ends here, with this status and these words on standard error."""

    def __init__(self, status: Exit, message: str = "") -> None:
        super().__init__(message)
        self.status = status
        self.message = message


@contextmanager
def ending() -> Iterator[None]:
    """Let the block end the command.

    Raises:
        typer.Exit: with the status that it ended with, if it is not 0.
    """
    try:
        yield
    except CommandEnded as end:
        if end.message:
            _tell(end.message)
        raise typer.Exit(end.status) from None
    except CallFailed as error:
        _tell(error.message)
        status = Exit.UNREACHABLE if isinstance(error, Away) else Exit.FAILED
        raise typer.Exit(status) from None
    except Unreadable as error:
        _tell(str(error))
        raise typer.Exit(Exit.FAILED) from None
    except KeyboardInterrupt:
        raise typer.Exit(Exit.INTERRUPTED) from None


def _tell(message: str) -> None:
    """What a tool printed may be in it."""
    Lines(err=True).block(shown_output(message))


def run(command: Coroutine[Any, Any, None]) -> None:
    """Run a command to its end; raises as `ending`."""
    with ending():
        asyncio.run(command)
