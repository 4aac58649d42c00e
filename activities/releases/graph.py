"""What workflows may know about a release: names, dependencies and declared inputs, no content."""

from apps.config.actions import EVERY_WORKERS_ACTION_TIMEOUT
from apps.config.app import AppConfig
from apps.durations import parse_duration
from apps.graph import Graph
from contracts.actions import FEATURE_LONG_ACTIONS
from contracts.errors import BadConfig
from contracts.releases import GRAPH_LIMIT_BYTES, DeclaredInput, ReleaseComponent, ReleaseGraph


def release_graph(app: str, release: str, config: AppConfig) -> ReleaseGraph:
    """The graph of a release; its components are in an order that respects their dependencies.

    Raises:
        BadConfig: it is too large for a workflow's history.
    """
    graph = Graph(config)
    types = {component.name: component.type for component in config.components}
    found = ReleaseGraph(
        app=app,
        release=release,
        components=[
            ReleaseComponent(name=name, type=types[name], dependencies=graph.dependencies(name))
            for name in graph.order()
        ],
        inputs=[
            DeclaredInput(
                name=item.name,
                type=item.type,
                required=item.required,
                has_default=item.default is not None,
                sensitive=item.sensitive,
            )
            for item in config.inputs
        ],
        actions=[action.name for action in config.actions],
        sandbox=config.sandbox is not None,
        requires=_required(config),
    )
    size = len(found.model_dump_json().encode())
    if size > GRAPH_LIMIT_BYTES:
        raise BadConfig(
            f"the graph of app {app} has {size} bytes, more than the {GRAPH_LIMIT_BYTES} that a "
            f"workflow takes ({len(found.components)} components, {len(found.inputs)} inputs, "
            f"{len(found.actions)} actions): split the app, or shorten names and dependencies"
        )
    return found


def _required(config: AppConfig) -> list[str]:
    """What a worker must know to read the config: older ones refuse what they do not allow."""
    steps = [step for runbook in config.runbooks for step in runbook.steps]
    timeouts = [action.timeout for action in config.actions] + [
        step.timeout for step in steps if step.timeout is not None
    ]
    is_long = any(parse_duration(one) > EVERY_WORKERS_ACTION_TIMEOUT for one in timeouts)
    return [FEATURE_LONG_ACTIONS] if is_long else []
