"""Checks that every template can be parsed, and that what it reads will exist."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial

from apps.checks.module_places import Declared
from apps.checks.references import Known, reference_problem, sandbox_reference_problem
from apps.config.actions import Runbook
from apps.config.base import Model
from apps.config.components import ComponentFields
from apps.config.metadata import Stack
from apps.config.roles import NamedPolicy, Role
from apps.config.shape import degrades, templates
from apps.config.terraform import Sandbox, SandboxFields, TerraformModule
from apps.parts import SANDBOX
from apps.reading.entities import Entities
from apps.reading.findings import Findings
from apps.spelling import did_you_mean
from apps.templates import TemplateError
from apps.templates.state_fields import is_unfilled
from apps.templates.state_paths import Path, ReadsOf


@dataclass(frozen=True)
class _Text:
    file: str
    key: str
    text: str
    model: Model
    degrades: bool
    """Mistakes in it are only warnings."""


def check_templates(
    entities: Entities, modules: Declared, reads_of: ReadsOf, findings: Findings
) -> bool:
    """Adds a problem for each template that cannot be parsed, or reads what will not exist.

    Returns:
        Whether every template can be parsed.
    """
    known = _known(entities, modules)
    fits = True
    for one in _texts(entities):
        try:
            found = reads_of(one.text)
        except TemplateError as error:
            _report(one, str(error), error.line, findings)
            fits = fits and one.degrades
            continue
        problem_of = _problem_of(one.model)
        for read in found:
            problem = problem_of(read.path, known) if read.required else None
            if problem:
                _report(one, problem, read.position.line, findings)
    return fits


def _report(one: _Text, problem: str, line: int, findings: Findings) -> None:
    if one.degrades:
        message = f"will be shown unrendered: {problem}"
        findings.warning(one.file, one.key, message, within=line)
    else:
        findings.error(one.file, one.key, problem, within=line)


def _texts(entities: Entities) -> Iterator[_Text]:
    for located in entities.all():
        for key, text in templates(located.model, located.at):
            own = key.removeprefix(located.at).removeprefix(".")
            yield _Text(located.file, key, text, located.model, degrades(located.model, own))


def _problem_of(model: Model) -> Callable[[Path, Known], str | None]:
    if isinstance(model, Stack | Role | NamedPolicy):
        return _stack_reference_problem
    if isinstance(model, Runbook):
        return partial(_runbook_reference_problem, {item.name for item in model.input})
    problem_of = (
        sandbox_reference_problem if isinstance(model, SandboxFields) else reference_problem
    )
    return lambda path, known: None if is_unfilled(path) else problem_of(path, known)


def _runbook_reference_problem(inputs: set[str], path: Path, known: Known) -> str | None:
    """Why a path leads to nothing if a runbook reads it, or None; a runbook has its own inputs."""
    match path:
        case ("runbook_inputs", name, *_) if name not in inputs:
            return f"the runbook has no input `{name}`{did_you_mean(name, inputs)}"
        case ("runbook_inputs", *_):
            return None
    return None if is_unfilled(path) else reference_problem(path, known)


def _stack_reference_problem(path: Path, known: Known) -> str | None:
    """Why a path leads to nothing if the stack reads it, or None; the stack comes first of all."""
    match path[1:]:
        case (("components" | "actions" | "sandbox" | "install_stack" | "secrets"), *_):
            pass
        case ("install", "components" | "actions" | "sandbox" | "install_stack" | "secrets", *_):
            pass
        case _:
            return None if is_unfilled(path) else reference_problem(path, known)
    return (
        f"`.{'.'.join(path)}` cannot be read by the stack, which comes before all else: it sees "
        "inputs, the install's id and name, the app and the org"
    )


def _known(entities: Entities, modules: Declared) -> Known:
    outputs: dict[str, frozenset[str]] = {}
    for part in entities.of(TerraformModule):
        module = modules.get(part.model.source.place) if part.model.has_source else None
        if module is None or not module.is_complete:
            continue
        for name in _names(part.model):
            outputs[name] = frozenset(module.outputs)
    return Known(
        components=entities.names["component"],
        inputs=entities.names["input"],
        actions=entities.names["action"],
        outputs=outputs,
        lacks_sandbox=entities.lacks_sandbox,
    )


def _names(model: TerraformModule) -> Iterator[str]:
    if isinstance(model, Sandbox):
        yield SANDBOX
    elif isinstance(model, ComponentFields):
        yield model.name
        if model.var_name:
            yield model.var_name
