"""The parts that a change would have planned again or torn down, each with the reason.

It is the smallest set that is certain without an install. A part that only depends on a changed one
is really planned only if the apply of that one changes something.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal

from apps.config.app import AppConfig
from apps.graph import Graph
from apps.parts import SANDBOX, part_shown


@dataclass(frozen=True)
class Touched:
    """One part that a change touches."""

    part: str
    verb: Literal["plan", "teardown"]
    reason: str


def by_inputs(config: AppConfig, names: Iterable[str]) -> list[Touched]:
    """The parts that a change of these inputs touches, in the order of a deploy.

    Raises:
        CycleError: components need each other.
        TemplateError: a template cannot be parsed.
    """
    graph = Graph(config)
    reasons: dict[str, str] = {}
    for name in names:
        for part in graph.parts_referencing_input(name):
            reasons.setdefault(part, f"refers to the input {name}")
    return _planned(graph, reasons)


def by_part(config: AppConfig, name: str) -> list[Touched]:
    """The parts that a change of one component (or of the sandbox) touches, beginning with it.

    Raises:
        CycleError: components need each other.
        TemplateError: a template cannot be parsed.
    """
    return _planned(Graph(config), {name: "is what changes"})


def between(
    before: AppConfig,
    after: AppConfig,
    artifacts_before: Mapping[str, str],
    artifacts_after: Mapping[str, str],
) -> list[Touched]:
    """The parts that a deploy of one config over another touches; teardowns last, in reverse order.

    Args:
        before: The config that is deployed.
        after: The config that would be deployed.
        artifacts_before: A digest of each part's files in `before`.
        artifacts_after: The same in `after`.

    Raises:
        CycleError: components need each other.
        TemplateError: a template cannot be parsed.
    """
    graph = Graph(after)
    reasons: dict[str, str] = {}
    for part in after.parts():
        reason = _why(part, before, after, artifacts_before, artifacts_after)
        if reason:
            reasons[part] = reason
    gone = set(before.parts()) - set(after.parts())
    order = [one for one in [*Graph(before).reversed(), SANDBOX] if one in gone]
    torn_down = [Touched(one, "teardown", "is no longer in the config") for one in order]
    return [*_planned(graph, reasons), *torn_down]


def _why(
    part: str,
    before: AppConfig,
    after: AppConfig,
    artifacts_before: Mapping[str, str],
    artifacts_after: Mapping[str, str],
) -> str | None:
    then, now = before.part(part), after.part(part)
    if then is None:
        return "is new"
    if artifacts_before.get(part) != artifacts_after.get(part):
        return "has other files"
    return "has another config" if then != now else None


def _planned(graph: Graph, reasons: Mapping[str, str]) -> list[Touched]:
    """The parts with a reason of their own, and every part that depends on one of them."""
    found: dict[str, Touched] = {}
    if SANDBOX in reasons:
        found[SANDBOX] = Touched(SANDBOX, "plan", reasons[SANDBOX])
    for name in graph.order():
        reason = reasons.get(name) or _inherited(name, graph, found)
        if reason:
            found[name] = Touched(name, "plan", reason)
    return list(found.values())


def _inherited(name: str, graph: Graph, found: Mapping[str, Touched]) -> str | None:
    needs = [one for one in graph.dependencies(name) if one in found]
    needs += [SANDBOX] if SANDBOX in found and graph.reads_sandbox(name) else []
    return f"depends on {', '.join(part_shown(one) for one in needs)}" if needs else None
