"""Checks what only the whole config shows: names, references, circles, and Terraform modules."""

from collections.abc import Iterable, Mapping
from pathlib import Path

from apps.config import AppConfig, Input, InputGroup, Metadata, TerraformModule
from apps.entities import Entities, Located
from apps.environment import environment_problem
from apps.files import Folder, resolve
from apps.findings import Findings
from apps.graph import (
    CycleError,
    Graph,
    action_templates,
    module_templates,
    strings,
)
from apps.input_values import default_text, type_problem
from apps.parts import SANDBOX, part_shown
from apps.references import Known, reference_problem, sandbox_reference_problem
from apps.spelling import did_you_mean
from apps.templates import TemplateError, parse
from apps.terraform_modules import DeclaredModule, ModuleError, read_module
from apps.triggers import trigger_problems


def check_entities(entities: Entities, folder: Folder, findings: Findings) -> None:
    """Adds a problem for everything that does not fit together."""
    _check_names(entities, findings)
    _check_inputs(entities, findings)
    _check_dependencies(entities, findings)
    _check_triggers(entities, findings)
    _check_environments(entities, findings)
    modules = _read_modules(_parts(entities), folder.root, findings)
    for part in _parts(entities):
        module = modules.get(part.model.public_repo.directory)
        if module is not None:
            _check_variables(part, module, findings)
    templates_fit = _check_templates(entities, modules, findings)
    if templates_fit:
        _check_circles(entities, findings)


def _parts(entities: Entities) -> list[Located[TerraformModule]]:
    """The components and the sandbox: what Terraform deploys."""
    return [*entities.components, *([entities.sandbox] if entities.sandbox else [])]


def _check_names(entities: Entities, findings: Findings) -> None:
    kinds: list[tuple[str, Iterable[Located[InputGroup]] | Iterable[Located[Input]]]] = [
        ("group", entities.groups),
        ("input", entities.inputs),
    ]
    for kind, items in kinds:
        seen: dict[str, str] = {}
        for item in items:
            _claim(kind, item.model.name, item.key("name"), item.file, seen, findings)
    seen = {}
    for action in entities.actions:
        _claim("action", action.model.name, "name", action.file, seen, findings)
    seen = {}
    for component in entities.components:
        _claim("component", component.model.name, "name", component.file, seen, findings)
    for component in entities.components:
        second = component.model.var_name
        if second and second != component.model.name:
            _claim("component", second, "var_name", component.file, seen, findings)
        if component.model.name == part_shown(SANDBOX) and not entities.lacks_sandbox:
            message = "is what people see the app's sandbox as; choose another name"
            findings.error(component.file, "name", message)


def _claim(  # noqa: PLR0913, PLR0917 - who claims which name, where, among whom
    kind: str, name: str, key: str, file: str, seen: dict[str, str], findings: Findings
) -> None:
    if name in seen:
        where = f" in {seen[name]}" if seen[name] != file else ""
        findings.error(file, key, f"there is already {_article(kind)} `{name}`{where}")
    seen.setdefault(name, file)


def _article(kind: str) -> str:
    return f"an {kind}" if kind[0] in "aeiou" else f"a {kind}"


def _check_inputs(entities: Entities, findings: Findings) -> None:
    groups = entities.names["group"]
    for item in entities.inputs:
        group = item.model.group
        if group is None and groups.known:
            message = f"is required, since groups are declared{did_you_mean('', groups.known)}"
            findings.error(item.file, item.key("group"), message)
        elif group is not None and groups.lacks(group):
            message = f"there is no group `{group}`{did_you_mean(group, groups.known)}"
            findings.error(item.file, item.key("group"), message)
        text = default_text(item.model)
        problem = type_problem(item.model.type, text) if text else None
        if problem:
            findings.error(item.file, item.key("default"), f"{problem} (type {item.model.type})")


def _check_dependencies(entities: Entities, findings: Findings) -> None:
    known = entities.names["component"]
    needs = [(c.file, c.model.dependencies) for c in entities.components]
    needs += [(a.file, a.model.dependencies) for a in entities.actions]
    for file, dependencies in needs:
        for index, name in enumerate(dependencies):
            if known.lacks(name):
                message = f"there is no component `{name}`{did_you_mean(name, known.known)}"
                findings.error(file, f"dependencies[{index}]", message)


def _check_triggers(entities: Entities, findings: Findings) -> None:
    components = entities.names["component"]
    for action in entities.actions:
        for index, trigger in enumerate(action.model.triggers):
            for key, message in trigger_problems(trigger):
                findings.error(action.file, f"triggers[{index}].{key}", message)
            name = trigger.component_name
            if name is not None and components.lacks(name):
                message = f"there is no component `{name}`{did_you_mean(name, components.known)}"
                findings.error(action.file, f"triggers[{index}].component_name", message)


def _check_environments(entities: Entities, findings: Findings) -> None:
    sets = [(p.file, "env_vars", p.model.env_vars) for p in _parts(entities)]
    sets += [(a.file, f"steps[{index}].env_vars", step.env_vars)
             for a in entities.actions for index, step in enumerate(a.model.steps)]  # fmt: skip
    for file, key, variables in sets:
        for name in variables:
            problem = environment_problem(name)
            if problem:
                findings.error(file, f"{key}.{name}", problem)


def _read_modules(
    parts: list[Located[TerraformModule]], root: Path, findings: Findings
) -> dict[str, DeclaredModule]:
    """The module of each directory; those that cannot be read are told once and left out."""
    found: dict[str, DeclaredModule] = {}
    directories = {p.model.public_repo.directory: p for p in reversed(parts)}
    for directory, part in sorted(directories.items()):
        try:
            module = read_module(root / directory)
        except ModuleError as error:
            if error.file == ".":
                message = f"`{directory}` {error.message}"
                findings.error(part.file, "public_repo.directory", message)
            else:
                findings.error(f"{directory}/{error.file}", "", error.message, error.line)
            continue
        found[directory] = module
        _check_module(directory, module, findings)
    return found


def _check_module(directory: str, module: DeclaredModule, findings: Findings) -> None:
    if module.cloud_block is not None:
        findings.error(
            f"{directory}/{module.cloud_block}", "terraform.cloud",
            "a `cloud` block is not supported: the state lies in the install's own store; remove "
            "the block",
        )  # fmt: skip
    for name, source in module.module_sources.items():
        if not source.startswith(("./", "../")):
            continue
        path = resolve(directory, source)
        if path is None or not f"{path}/".startswith(f"{directory}/"):
            findings.error(
                directory, f"module.{name}.source",
                f"`{source}` leads out of `{directory}`, and a release holds that folder alone; "
                "move the module into it",
            )  # fmt: skip


def _check_variables(
    part: Located[TerraformModule], module: DeclaredModule, findings: Findings
) -> None:
    model, declared = part.model, module.variables
    where = f"the module in `{model.public_repo.directory}`"
    for name in model.vars:
        if name not in declared:
            message = f"{where} declares no variable `{name}`{did_you_mean(name, declared)}"
            findings.error(part.file, f"vars.{name}", message)
    if model.var_file:
        return  # its content is only known per install
    for name, variable in sorted(declared.items()):
        given = name in model.vars or f"TF_VAR_{name}" in model.env_vars
        if not variable.has_default and not given:
            message = f"is required: {where} declares it without a default"
            findings.error(part.file, f"vars.{name}", message)


def _check_templates(
    entities: Entities, modules: Mapping[str, DeclaredModule], findings: Findings
) -> bool:
    """Whether every template can be parsed; also checks what each refers to."""
    known = _known(entities, modules)
    texts = [(p.file, key, text) for p in _parts(entities)
             for key, text in module_templates(p.model)]  # fmt: skip
    texts += [(a.file, key, text) for a in entities.actions
              for key, text in action_templates(a.model)]  # fmt: skip
    if entities.metadata is not None:
        labels = _metadata_templates(entities.metadata)
        texts += [(entities.metadata.file, key, text) for key, text in labels]
    fits = True
    for file, key, text in texts:
        is_sandbox = entities.sandbox is not None and file == entities.sandbox.file
        problem_of = sandbox_reference_problem if is_sandbox else reference_problem
        try:
            references = parse(text).references()
        except TemplateError as error:
            findings.error(file, key, str(error))
            fits = False
            continue
        for path in sorted(references):
            problem = problem_of(path, known)
            if problem:
                findings.error(file, key, problem)
    return fits


def _metadata_templates(metadata: Located[Metadata]) -> list[tuple[str, str]]:
    return list(strings(metadata.model.default_labels, "default_labels"))


def _known(entities: Entities, modules: Mapping[str, DeclaredModule]) -> Known:
    outputs: dict[str, frozenset[str]] = {}
    for component in entities.components:
        module = modules.get(component.model.public_repo.directory)
        if module is None:
            continue
        for name in (component.model.name, component.model.var_name):
            if name:
                outputs[name] = frozenset(module.outputs)
    if entities.sandbox is not None:
        module = modules.get(entities.sandbox.model.public_repo.directory)
        if module is not None:
            outputs[SANDBOX] = frozenset(module.outputs)
    return Known(
        components=entities.names["component"],
        inputs=entities.names["input"],
        actions=entities.names["action"],
        outputs=outputs,
        lacks_sandbox=entities.lacks_sandbox,
    )


def _check_circles(entities: Entities, findings: Findings) -> None:
    if entities.metadata is None:
        return
    models = {component.model.name: component for component in entities.components}
    config = AppConfig(
        metadata=entities.metadata.model, components=[c.model for c in models.values()]
    )
    try:
        Graph(config)
    except CycleError as error:
        findings.error(models[error.path[0]].file, "dependencies", str(error))
