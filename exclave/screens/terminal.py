"""Writes text to a terminal, with colours for a person, and without foreign control characters."""

import os
import re
import sys
from typing import Final, TextIO

import typer

from apps.display_text import lines_of, shown, shown_lines

_OURS = re.compile(r"(\x1b\[(?:0|1|31|32|33|36)m)")
"""The escape sequences of the colours used here."""

SHORT: Final = 12
"""How many hexadecimal digits of a digest are shown where a person need not type all of it."""


def write(text: str = "", *, err: bool = False, ends_line: bool = True) -> None:
    """Write the command's own text, of one or several lines, without colours, by `shown_lines`."""
    typer.echo(shown_lines(text), err=err, nl=ends_line, color=False)


def short(digest: str | None) -> str:
    """A digest's first digits, by which a person recognises it."""
    return digest.removeprefix("sha256:")[:SHORT] if digest else "-"


class Lines:
    """Writes lines to a stream, in colour if it is a terminal."""

    def __init__(self, *, err: bool = False) -> None:
        self._err = err
        self._held: list[str] | None = None
        stream: TextIO = sys.stderr if err else sys.stdout
        self.colours = (
            stream.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
        )

    def paint(self, text: str, colour: str | None = None, *, bold: bool | None = None) -> str:
        """The text in a colour, if the stream has colours."""
        return typer.style(shown(text), fg=colour, bold=bold) if self.colours else text

    def block(self, text: str, indent: str = "", rest: str | None = None) -> None:
        """Write a text of several lines; only line feeds end a line.

        Args:
            text: The text.
            indent: The indentation of each line that is not empty.
            rest: The indentation after the first line, if it differs.
        """
        for line in lines_of(text):
            self(f"{indent}{line}" if line.strip() else "")
            indent = indent if rest is None else rest

    def __call__(self, line: str = "") -> None:
        """Write one line; `shown` makes everything in it harmless, except our own colours."""
        pieces = _OURS.split(line) if self.colours else [line]
        line = "".join(one if _OURS.fullmatch(one) else shown(one) for one in pieces)
        self._write(line)

    def _write(self, line: str) -> None:
        if self._held is not None:
            self._held.append(line)
        else:
            typer.echo(line, err=self._err, color=self.colours)

    def hold(self) -> None:
        """Hold back what is written, since a person is being asked."""
        self._held = self._held if self._held is not None else []

    def release(self) -> None:
        """Write what was held back."""
        held, self._held = self._held or [], None
        for line in held:
            self._write(line)
