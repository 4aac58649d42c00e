"""What a deploy does with each component, and why: plan, skip, or tear down."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from activities.deploy.fingerprints import component_fingerprint, input_fingerprints
from apps.config import AppConfig
from apps.graph import Graph
from apps.sensitivity import Sensitive
from contracts.deploys import Decision
from store.install_state import ComponentRecord


@dataclass(frozen=True)
class Target:
    """The release that is deployed, and what it is deployed over."""

    release: str
    config: AppConfig
    artifacts: Mapping[str, str]
    """Digest of each component's artifact."""
    inputs: Mapping[str, str | Sensitive]
    deployed: Mapping[str, ComponentRecord]
    key: bytes
    """Of the input fingerprints."""


def decide(target: Target) -> list[Decision]:
    """A decision for each component of the release, then for each that it no longer has."""
    graph = Graph(target.config)
    kept = [_kept(name, graph, target) for name in graph.order()]
    removed = {n: r for n, r in target.deployed.items() if n not in target.artifacts}
    return [*kept, *(_removed(record, target) for _, record in sorted(removed.items()))]


def _kept(name: str, graph: Graph, target: Target) -> Decision:
    component = target.config.component(name)
    if component is None:
        raise AssertionError("the graph is made of the config's components")
    reason = _why_plan(name, graph, target)
    return Decision(
        component=name,
        type=component.type,
        verb="plan" if reason else "skip",
        reason=reason or "nothing that it depends on has changed",
        release=target.release,
        after=graph.dependencies(name),
    )


def _why_plan(name: str, graph: Graph, target: Target) -> str | None:
    """The first reason there is, or None."""
    return next(_reasons(name, graph, target), None)


def _reasons(name: str, graph: Graph, target: Target) -> Iterator[str]:
    record = target.deployed.get(name)
    component = target.config.component(name)
    if record is None or component is None:
        yield "it is not deployed yet"
        return
    if record.status != "done":
        yield "its last apply did not end well"
    if record.artifact != target.artifacts[name]:
        yield "its artifact changed"
    if record.config != component_fingerprint(component):
        yield "its config changed"
    moved = [n for n, built_on in record.built_on.items() if _generation(n, target) != built_on]
    if moved:
        yield f"{', '.join(sorted(moved))} changed since"
    inputs = input_fingerprints(graph, name, target.inputs, target.key)
    changed = sorted(key for key, value in inputs.items() if record.inputs.get(key) != value)
    if changed:
        yield f"the input {', '.join(changed)} changed"


def _generation(name: str, target: Target) -> str | None:
    deployed = target.deployed.get(name)
    return deployed.generation if deployed else None


def _removed(record: ComponentRecord, target: Target) -> Decision:
    """A component is torn down once nothing is left that was deployed on top of it."""
    on_top = [n for n, one in target.deployed.items() if record.component in one.dependencies]
    return Decision(
        component=record.component,
        type=record.type,
        verb="teardown",
        reason="the release no longer has it",
        release=record.release,
        after=sorted(on_top),
    )
