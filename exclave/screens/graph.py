"""Draws an app's dependency graph: in the terminal, for Mermaid, and for Graphviz."""

from collections.abc import Iterator, Mapping, Sequence

from apps.config.app import AppConfig
from apps.graph import Graph
from apps.parts import SANDBOX, part_shown

Edges = Mapping[str, Sequence[str]]
"""For each part (a component or the sandbox), the parts that need it."""


def edges(config: AppConfig) -> dict[str, list[str]]:
    """For each part, the parts that need it directly, in a stable order with the sandbox first.

    Raises:
        CycleError: components need each other.
        TemplateError: a template cannot be parsed.
    """
    graph = Graph(config)
    found: dict[str, list[str]] = {}
    if config.sandbox is not None:
        found[SANDBOX] = [name for name in graph.order() if graph.reads_sandbox(name)]
    found.update({name: graph.dependents(name) for name in graph.order()})
    return found


def mermaid(needed_by: Edges, touched: frozenset[str] = frozenset()) -> Iterator[str]:
    """A flowchart in which touched parts are marked."""
    yield "flowchart TD"
    numbers = {name: f"n{number}" for number, name in enumerate(needed_by)}
    for name, number in numbers.items():
        marked = ":::touched" if name in touched else ""
        yield f'    {number}["{part_shown(name)}"]{marked}'
    for name, dependents in needed_by.items():
        for dependent in dependents:
            yield f"    {numbers[name]} --> {numbers[dependent]}"
    if touched:
        yield "    classDef touched stroke-width:3px"


def dot(needed_by: Edges, touched: frozenset[str] = frozenset()) -> Iterator[str]:
    """A digraph for Graphviz in which touched parts are bold."""
    yield "digraph app {"
    for name in needed_by:
        style = ' [style="bold"]' if name in touched else ""
        yield f'  "{part_shown(name)}"{style};'
    for name, dependents in needed_by.items():
        for dependent in dependents:
            yield f'  "{part_shown(name)}" -> "{part_shown(dependent)}";'
    yield "}"


def tree(needed_by: Edges, touched: frozenset[str] = frozenset()) -> Iterator[str]:
    """A tree with each part below those that it needs; a repeated part has no branches again."""
    needed = {name for dependents in needed_by.values() for name in dependents}
    drawn: set[str] = set()
    for root in needed_by:
        if root not in needed:
            yield from _branch(root, needed_by, touched, drawn, "", "")


def _branch(  # noqa: PLR0913, PLR0917 - the drawing so far, and the place of this branch in it
    name: str,
    needed_by: Edges,
    touched: frozenset[str],
    drawn: set[str],
    first: str,
    rest: str,
) -> Iterator[str]:
    again = name in drawn and bool(needed_by[name])
    mark = " *" if name in touched else ""
    yield f"{first}{part_shown(name)}{mark}{' (see above)' if again else ''}"
    drawn.add(name)
    if again:
        return
    for number, dependent in enumerate(needed_by[name]):
        last = number == len(needed_by[name]) - 1
        yield from _branch(
            dependent,
            needed_by,
            touched,
            drawn,
            f"{rest}{'└─ ' if last else '├─ '}",
            f"{rest}{'   ' if last else '│  '}",
        )
