"""How a command prints its answer."""

import json
from enum import StrEnum
from typing import Annotated, Any

import typer

from apps.display_text import shown


class Output(StrEnum):
    """The formats of an answer."""

    TEXT = "text"
    JSON = "json"


OutputOption = Annotated[
    Output,
    typer.Option("--output", "-o", help="How to print the answer; errors are always text."),
]


def print_json(document: Any) -> None:
    """Print a JSON document on one line, flushed at once; invisible characters are escaped."""
    typer.echo(shown(json.dumps(document, ensure_ascii=False, default=str)))
