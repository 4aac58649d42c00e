"""`exclave schema`: prints JSON Schemas of an app config's files, for editors."""

import json
from pathlib import Path
from typing import Annotated

import typer

from apps.schema import SCHEMAS, schema
from apps.spelling import did_you_mean
from client.errors import Refused
from exclave.exits import ending
from exclave.screens.terminal import write


def print_schema(
    kind: Annotated[
        str | None, typer.Argument(metavar="KIND", help="For example `action`; none lists them.")
    ] = None,
    everything: Annotated[
        Path | None,
        typer.Option("--all", metavar="DIR", help="Write all schemas into this folder."),
    ] = None,
) -> None:
    """Print the JSON Schema of a kind of file, or write all schemas into a folder.

    An editor that knows TOML (Taplo, Even Better TOML) checks and completes a file whose first line
    names its schema: `#:schema ./schemas/action.json`.

    Example:

        exclave schema action

        exclave schema --all schemas
    """
    with ending():
        if everything is not None:
            _write_all(everything)
        elif kind is None:
            write("\n".join(sorted(SCHEMAS)))
        elif kind not in SCHEMAS:
            hint = did_you_mean(kind, SCHEMAS)
            raise Refused(f"There is no kind {kind!r}{hint}")
        else:
            write(_text(kind))


def _write_all(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for kind in sorted(SCHEMAS):
            (folder / f"{kind}.json").write_text(f"{_text(kind)}\n", encoding="utf-8")
    except OSError as error:
        raise Refused(f"{error.filename or folder} cannot be written: {error.strerror}") from error
    write(f"{len(SCHEMAS)} schemas in {folder}.")


def _text(kind: str) -> str:
    return json.dumps(schema(kind), indent=2, ensure_ascii=False)
