"""Checks a config after it was read: first table by table, then as a whole."""

from typing import cast

from apps.checks.environment import check_environment
from apps.checks.module_places import Modules
from apps.checks.modules import check_modules
from apps.checks.names import check_names
from apps.checks.rules import violations_of
from apps.checks.steps import check_steps
from apps.checks.templates import check_templates
from apps.config.actions import KubernetesContext
from apps.config.app import AppConfig
from apps.config.components import Component, ComponentFields
from apps.config.metadata import Metadata
from apps.deployable import Deployable
from apps.graph import CycleError, Graph
from apps.reading.entities import Entities
from apps.reading.findings import Findings
from apps.templates.state_paths import ReadsOf


def check_entities(
    entities: Entities,
    modules: Modules,
    deployable: Deployable,
    reads_of: ReadsOf,
    findings: Findings,
) -> None:
    """Adds a problem for everything that does not fit together."""
    for located in entities.all():
        for violation in violations_of(located.model):
            seen = violation.beneath(located.at)
            if seen.severity == "warning":
                findings.warning(located.file, seen.key, seen.message, within=seen.within)
            else:
                findings.error(located.file, seen.key, seen.message, within=seen.within)
    check_environment(entities, deployable, findings)
    check_names(entities, findings)
    check_steps(entities, modules, findings)
    declared = check_modules(entities, modules, findings)
    if check_templates(entities, declared, reads_of, findings):
        _check_circles(entities, reads_of, findings)


def _check_circles(entities: Entities, reads_of: ReadsOf, findings: Findings) -> None:
    metadata = entities.one(Metadata)
    if metadata is None:
        return
    models = {component.model.name: component for component in entities.of(ComponentFields)}
    components = [located.model for located in models.values()]
    config = AppConfig.model_construct(
        metadata=metadata.model,
        components=cast("list[Component]", components),
        kubernetes_contexts=[located.model for located in entities.of(KubernetesContext)],
    )
    try:
        Graph(config, reads_of)
    except CycleError as error:
        findings.error(models[error.path[0]].file, "dependencies", str(error))
