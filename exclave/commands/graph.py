"""`exclave graph`: draws an app's dependency graph, and what a change affects."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from apps.affected import Touched, between, by_inputs, by_part
from apps.config.app import AppConfig
from apps.config.parts import source_of
from apps.display_text import shown
from apps.loader import ConfigErrors, load
from apps.parts import SANDBOX, part_shown
from artifacts.archive import ArchiveRefused, pack
from artifacts.names import digest_of
from client.errors import Refused
from contracts.engines import ENGINES, deployable
from exclave.exits import ending
from exclave.output import Output, OutputOption, print_json
from exclave.screens.graph import dot, edges, mermaid, tree
from exclave.screens.terminal import Lines
from exclave.sources import FolderArgument


class Form(StrEnum):
    """How the graph is drawn."""

    TREE = "tree"
    MERMAID = "mermaid"
    DOT = "dot"


DRAWN = {Form.TREE: tree, Form.MERMAID: mermaid, Form.DOT: dot}


def graph(
    folder: FolderArgument,
    form: Annotated[Form, typer.Option("--as", help="How to draw it.")] = Form.TREE,
    inputs: Annotated[
        list[str], typer.Option("--input", metavar="NAME", help="Mark what this input affects.")
    ] = [],  # noqa: B006 - typer reads it, and nobody changes it
    component: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Mark what this component (or sandbox) affects."),
    ] = None,
    against: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Mark what changes compared with that config."),
    ] = None,
    output: OutputOption = Output.TEXT,
) -> None:
    """Draw which component needs which; each is drawn below those that it needs.

    With --input, --component or --against, what such a change affects is marked and listed, with
    reasons, in the order in which it would be deployed.

    Example:

        exclave graph examples/shop

        exclave graph examples/shop --input cache_mb

        exclave graph new-shop --against examples/shop --as mermaid
    """
    with ending():
        if sum([bool(inputs), component is not None, against is not None]) > 1:
            raise Refused("Give only one of --input, --component and --against.")
        config = _loaded(folder)
        touched = _touched(config, folder, inputs, component, against)
        needed_by = edges(config)
    if output is Output.JSON:
        listed = [{"part": part_shown(t.part), "verb": t.verb, "reason": t.reason} for t in touched]
        drawn = {part_shown(p): [part_shown(d) for d in after] for p, after in needed_by.items()}
        print_json({"needed_by": drawn, "touched": listed})
        return
    lines = Lines()
    for line in DRAWN[form](needed_by, frozenset(one.part for one in touched)):
        lines(line)
    if touched and form is Form.TREE:
        lines()
        for one in touched:
            verb = "planned" if one.verb == "plan" else "torn down"
            lines(f"* {part_shown(one.part)} is {verb}: it {one.reason}")


def _loaded(folder: Path) -> AppConfig:
    try:
        return load(folder, deployable(ENGINES)).config
    except ConfigErrors as errors:
        raise Refused("\n".join(shown(str(problem)) for problem in errors.problems)) from errors


def _touched(
    config: AppConfig,
    folder: Path,
    inputs: list[str],
    component: str | None,
    against: Path | None,
) -> list[Touched]:
    if inputs:
        _require(inputs, [one.name for one in config.inputs], "input")
        return by_inputs(config, inputs)
    if component is not None:
        part = SANDBOX if component == part_shown(SANDBOX) and config.sandbox else component
        _require([part], list(config.parts()), "component")
        return by_part(config, part)
    if against is not None:
        before = _loaded(against)
        return between(before, config, _digests(before, against), _digests(config, folder))
    return []


def _require(names: list[str], known: list[str], what: str) -> None:
    for name in names:
        if name not in known:
            there = ", ".join(part_shown(one) for one in known) or "none"
            raise Refused(f"The app has no {what} {name!r}; it has: {there}.")


def _digests(config: AppConfig, folder: Path) -> dict[str, str]:
    """A digest of each part's files, as a build packs them."""
    found = {}
    for part, model in config.parts().items():
        source = source_of(model)
        if source is None:
            # It has no files besides the config.
            continue
        if not source.is_local:
            # Remote sources are not fetched here; their address, as configured, stands for them.
            found[part] = source.model_dump_json()
            continue
        try:
            found[part] = digest_of(pack(folder / source.directory))
        except ArchiveRefused as error:
            raise Refused(f"{part_shown(part)}: {error}") from error
    return found
