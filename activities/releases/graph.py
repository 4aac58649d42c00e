"""What workflows may know about a release: names, dependencies and declared inputs, no content."""

from apps.config.app import AppConfig
from apps.graph import Graph
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
    )
    size = len(found.model_dump_json().encode())
    if size > GRAPH_LIMIT_BYTES:
        raise BadConfig(
            f"the graph of app {app} has {size} bytes, more than the {GRAPH_LIMIT_BYTES} that a "
            f"workflow takes ({len(found.components)} components, {len(found.inputs)} inputs, "
            f"{len(found.actions)} actions): split the app, or shorten names and dependencies"
        )
    return found
