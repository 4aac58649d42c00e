"""Text for a terminal: colours where a person looks, and nothing that could steer the terminal."""

import os
import re
import sys
from typing import Final, TextIO

import typer

_SEQUENCES = re.compile(r"\x1b\[[0-9;?]*[ -/]*[@-~]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)?")
_CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")

SHORT: Final = 12
"""How many hexadecimal digits of a digest are shown where a person need not type it."""


def plain(text: str) -> str:
    """Text of others without control characters: no colours, no moving about, no titles."""
    return _CONTROLS.sub("", _SEQUENCES.sub("", text.replace("\r\n", "\n")))


def short(digest: str | None) -> str:
    """A digest as a person recognises it."""
    return digest.removeprefix("sha256:")[:SHORT] if digest else "-"


class Lines:
    """Writes lines to a stream, coloured if a person looks at it."""

    def __init__(self, *, err: bool = False) -> None:
        self._err = err
        self._held: list[str] | None = None
        stream: TextIO = sys.stderr if err else sys.stdout
        self.colours = (
            stream.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
        )

    def paint(self, text: str, colour: str | None = None, *, bold: bool | None = None) -> str:
        """The text in a colour, where there are colours."""
        return typer.style(text, fg=colour, bold=bold) if self.colours else text

    def __call__(self, line: str = "") -> None:
        """Write one line; it may hold line breaks."""
        if self._held is not None:
            self._held.append(line)
        else:
            typer.echo(line, err=self._err, color=self.colours)

    def hold(self) -> None:
        """Keep what is written back, since a person is being asked."""
        self._held = self._held if self._held is not None else []

    def release(self) -> None:
        """Write what was kept back."""
        held, self._held = self._held or [], None
        for line in held:
            self(line)
