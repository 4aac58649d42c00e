"""The environment variables of tools: an app config sets none that decide how a tool works."""

from apps.config.parts import Part, variables_of
from apps.deployable import Deployable
from apps.environment import environment_problem
from apps.reading.entities import Entities
from apps.reading.findings import Findings


def check_environment(entities: Entities, deployable: Deployable, findings: Findings) -> None:
    """Adds a problem for each variable that is the worker's alone to set."""
    for part in entities.of(Part):
        if not deployable.has(part.model):
            continue
        tool = deployable.variables_of(part.model)
        for name in variables_of(part.model):
            problem = environment_problem(name, tool)
            if problem:
                findings.error(part.file, part.key("env_vars", name), problem)
