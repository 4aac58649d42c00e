"""What a run does with each part of the install, and why: plan, skip, or tear down."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from activities.plans.fingerprints import input_fingerprints, part_fingerprint
from apps.config.app import AppConfig
from apps.config.parts import Part
from apps.graph import Graph
from apps.parts import SANDBOX, part_shown
from apps.sensitivity import Sensitive
from contracts.deploys import Decision
from store.install_records import ComponentRecord


@dataclass(frozen=True)
class Target:
    """The release that a run deploys, and what is deployed in the install now."""

    release: str
    config: AppConfig
    artifacts: Mapping[str, str]
    """The digest of each part's artifact."""
    inputs: Mapping[str, str | Sensitive]
    deployed: Mapping[str, ComponentRecord]
    """The record of each deployed component, by name."""
    key: bytes
    """The key of the input fingerprints."""
    sandbox: ComponentRecord | None = None
    """The record of the sandbox that was provisioned last."""

    def record(self, part: str) -> ComponentRecord | None:
        """The record of the part's last deployment."""
        return self.sandbox if part == SANDBOX else self.deployed.get(part)


def decide(target: Target) -> list[Decision]:
    """A decision for each component of the release, then for each deployed one that it lacks."""
    graph = Graph(target.config)
    kept = [_kept(name, graph, target) for name in graph.order()]
    removed = {n: r for n, r in target.deployed.items() if target.config.component(n) is None}
    return [*kept, *_removed(removed, target)]


def decide_sandbox(target: Target) -> list[Decision]:
    """The decision for the sandbox; empty if the release has no sandbox."""
    if target.config.sandbox is None:
        return []
    return [_kept(SANDBOX, Graph(target.config), target)]


def decide_teardown(
    deployed: Mapping[str, ComponentRecord], sandbox: ComponentRecord | None
) -> list[Decision]:
    """Tears down each component before those that it depends on, and the sandbox last."""
    order = _teardown_order(deployed)
    found = [
        _teardown(deployed[name], after=_on_top(name, deployed, order[:index]))
        for index, name in enumerate(order)
    ]
    return [*found, _teardown(sandbox, after=order)] if sandbox else found


def _kept(part: str, graph: Graph, target: Target) -> Decision:
    model = target.config.part(part)
    if model is None:
        raise AssertionError("the part comes from the config")
    reason = next(_reasons(part, model, graph, target), None)
    return Decision(
        component=part,
        type=model.part_type,
        verb="plan" if reason else "skip",
        reason=reason or "nothing that it depends on has changed",
        release=target.release,
        after=[] if part == SANDBOX else graph.dependencies(part),
    )


def _reasons(part: str, model: Part, graph: Graph, target: Target) -> Iterator[str]:
    """Why the part must be planned; people see the first reason."""
    record = target.record(part)
    if record is None:
        yield f"it was not {'provisioned' if part == SANDBOX else 'deployed'} before"
        return
    if record.status != "done":
        yield "its last apply did not end well"
    if record.artifact != target.artifacts[part]:
        yield "its artifact changed"
    if record.config != part_fingerprint(model):
        yield "its config changed"
    moved = _moved(part, record, graph, target)
    if moved:
        yield f"{', '.join(part_shown(one) for one in moved)} changed since"
    inputs = input_fingerprints(graph, part, target.inputs, target.key)
    changed = sorted(key for key, value in inputs.items() if record.inputs.get(key) != value)
    if changed:
        yield f"the input {', '.join(changed)} changed"


def _moved(part: str, record: ComponentRecord, graph: Graph, target: Target) -> list[str]:
    """Parts that this part was built on, or now reads, and that have changed since."""
    # The part may have been deployed before there was any sandbox.
    reads = {SANDBOX} if target.sandbox and graph.reads_sandbox(part) else set()
    return sorted(
        one
        for one in {*record.built_on, *reads}
        if record.built_on.get(one) != _generation(one, target)
    )


def _generation(part: str, target: Target) -> str | None:
    record = target.record(part)
    return record.generation if record else None


def _removed(removed: Mapping[str, ComponentRecord], target: Target) -> Iterator[Decision]:
    """Tears down each part once nothing is left that was deployed on top of it."""
    order = _teardown_order(removed)
    stay = target.deployed.keys() - removed.keys()
    for name, record in sorted(removed.items()):
        before = [*stay, *order[: order.index(name)]]
        on_top = _on_top(name, target.deployed, before)
        yield _teardown(record, after=on_top, reason="the release no longer has it")


def _teardown(
    record: ComponentRecord, *, after: list[str], reason: str = "the install is deprovisioned"
) -> Decision:
    return Decision(
        component=record.component,
        type=record.type,
        verb="teardown",
        reason=reason,
        release=record.release,
        after=after,
    )


def _teardown_order(deployed: Mapping[str, ComponentRecord]) -> list[str]:
    """The components, each before those that it depends on; otherwise by name."""
    left, order = dict(sorted(deployed.items())), list[str]()
    while left:
        # Records of different releases might depend on each other; then any one goes first.
        first = next((name for name in left if not _on_top(name, deployed, left)), next(iter(left)))
        order.append(first)
        del left[first]
    return order


def _on_top(name: str, deployed: Mapping[str, ComponentRecord], among: Iterable[str]) -> list[str]:
    """Those components in `among` that depend on the component `name`."""
    return sorted(one for one in among if name in deployed[one].dependencies)
